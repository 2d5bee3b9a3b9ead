"""Where tensors become plain numbers and arrays: conversion, printing, and messages with a fix."""

"""This package turns tensors into plain numbers and arrays: conversion, printing, and messages with a fix."""

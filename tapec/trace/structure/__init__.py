"""The structural key of a recording, and how a recording is found again by it."""

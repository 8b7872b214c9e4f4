"""The checks of the hosted API of agntz, a file for each part of it. `CHECKS` of a file lists them; the first line of a check names it."""

"""Tables of many runs: experiments, what is left to run, records, and how they are shown."""

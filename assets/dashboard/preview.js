// Placeholder until drawn below.

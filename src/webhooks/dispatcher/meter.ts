/** Measurements of the dispatcher. */
export type Meter = {
  /** Records the start of a call, and the time since it was due, in milliseconds. */
  started: (lagMs: number) => void;
  /** Records the end of an attempt: `delivered`, `endpoint_disabled`, or the class of its failure. */
  attempted: (outcome: string) => void;
  /** Records that the lease of a call had been taken over when it ended. */
  leaseLost: () => void;
  breakerOpened: () => void;
};

export const noMeter: Meter = {
  started: () => {},
  attempted: () => {},
  leaseLost: () => {},
  breakerOpened: () => {},
};

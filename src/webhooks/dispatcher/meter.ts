/** What the dispatcher measures of its work. */
export type Meter = {
  /** A call starts, this long after it was due (milliseconds). */
  started: (lagMs: number) => void;
  /** An attempt ended: `delivered`, `endpoint_disabled`, or the class of its failure. */
  attempted: (outcome: string) => void;
  /** The lease of a call had been taken over when it ended. */
  leaseLost: () => void;
  breakerOpened: () => void;
};

export const noMeter: Meter = {
  started: () => {},
  attempted: () => {},
  leaseLost: () => {},
  breakerOpened: () => {},
};

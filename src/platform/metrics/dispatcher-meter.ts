/** What the dispatcher tells of its work, for those who watch it. */
export type Meter = {
  /** A call starts, this long after it was due (milliseconds). */
  started: (lagMs: number) => void;
  /** A try ended: `delivered`, `endpoint_disabled`, or the class of its failure. */
  tried: (what: string) => void;
  /** The lease of a call had been taken over when it ended. */
  leaseLost: () => void;
  breakerOpened: () => void;
};

export const noMeter: Meter = { started: () => {}, tried: () => {}, leaseLost: () => {}, breakerOpened: () => {} };

/** Records the metrics of the dispatcher. */
export type Meter = {
  /** Records the start of a call, with the time since the delivery was due, in milliseconds. */
  started: (lagMs: number) => void;
  /**
   * Records the end of an attempt. `outcome` is `delivered`, `endpoint_disabled`, or the error class of the failure.
   */
  attempted: (outcome: string) => void;
  /** Records that another worker had taken over the lease of a call by the time the call ended. */
  leaseLost: () => void;
  breakerOpened: () => void;
};

export const noMeter: Meter = {
  started: () => {},
  attempted: () => {},
  leaseLost: () => {},
  breakerOpened: () => {},
};

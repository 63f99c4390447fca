export type Counts = { impressions: number; clicks: number; conversions: number };

/** Counts from which rates are estimated. Immutable: a refresh gives a new object. */
export type Posteriors = {
  /** By `posteriorKey` of publisher and placement, then by offer id. */
  placements: ReadonlyMap<string, ReadonlyMap<number, Counts>>;
  /** By offer id, over all placements and publishers. */
  offers: ReadonlyMap<number, Counts>;
  /** By name of the category, over all its offers. */
  categories: ReadonlyMap<string, Counts>;
  /** Average value of a sale by campaign id, in millionths; for `cps`. */
  averageSaleMicros: ReadonlyMap<number, number>;
};

export const posteriorKey = (publisherId: number, placement: string): string => `${publisherId} ${placement}`;

export const noPosteriors: Posteriors = {
  placements: new Map(),
  offers: new Map(),
  categories: new Map(),
  averageSaleMicros: new Map(),
};

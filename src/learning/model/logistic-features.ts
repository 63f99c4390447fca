/**
 * Feature names in the tables of a logistic model. `rates` contains a mean and a variance per offer. `weights` contains
 * a mean and a variance per property, either for all offers (entity 0) or for a single offer.
 */

/** Feature with the logit of the intercept, and with the variance for an offer without data. */
export const allFeature = 'intercept';

/** Feature with the mean and variance of an offer's effect, including recent changes. */
export const offerFeature = 'offer effect';

/** Returns the feature with the mean effect of a placement's first position. */
export const placeFeature = (place: string): string => `place ${place}`;

/** Levels of property effects: shared by all offers, or specific to an offer. */
export const [sharedLevel, ownLevel] = ['all', 'offer'] as const;

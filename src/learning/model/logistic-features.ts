/**
 * Features of the tables of a logistic model. `rates` contains pairs of mean and variance by offer; `weights` contains
 * such pairs by property, for all offers (entity 0) or for one.
 */

/** Logit of the intercept, and the variance of an offer without data. */
export const allFeature = 'intercept';

/** Mean and variance of the effect of an offer, including recent changes. */
export const offerFeature = 'offer effect';

/** Mean of the effect of a placement's first position. */
export const placeFeature = (place: string): string => `place ${place}`;

/** Levels of the effects of properties: of all offers, and of one. */
export const [sharedLevel, ownLevel] = ['all', 'offer'] as const;

/*
 * Features of the tables of a logistic model. `rates` holds pairs of mean and variance by offer, `weights` pairs of
 * mean and variance by property, for all offers (entity 0) or for one.
 */

/** Logit of the intercept, and the variance of an offer that was never seen. */
export const allFeature = 'intercept';

/** Mean and variance of the effect of an offer: its own, and what changed lately. */
export const offerFeature = 'offer effect';

/** Mean of the effect of the first position of a placement. */
export const placeFeature = (place: string): string => `place ${place}`;

/** Levels of the effects of properties: of all offers, and of one. */
export const [sharedLevel, ownLevel] = ['all', 'offer'] as const;

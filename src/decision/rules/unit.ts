import type { Publisher, Theme } from '../../catalog/types.ts';
import { hashText } from '../random.ts';

/** Settings of the unit at a placement: the placement's, else the theme's, else the publisher's. */
export type UnitRules = { enabled: boolean; offersPerResponse: number; deliveryPercentage: number };

export function unitOf(publisher: Publisher, theme: Theme | null, placementName: string): UnitRules {
  const placement = publisher.placements.get(placementName);
  return {
    enabled: placement?.unitEnabled ?? theme?.unitEnabled ?? publisher.unitEnabled,
    offersPerResponse: placement?.offersPerResponse ?? theme?.offersPerResponse ?? publisher.offersPerResponse,
    deliveryPercentage: placement?.deliveryPercentage ?? theme?.deliveryPercentage ?? publisher.deliveryPercentage,
  };
}

/** Whether a user is in the share that gets offers. Stable for each user; a smaller share is part of a larger one. */
export function isInDeliveryShare(percentage: number, publisherId: number, userKey: string): boolean {
  return percentage >= 100 || (hashText(`${publisherId} ${userKey}`) / 2 ** 32) * 100 < percentage;
}

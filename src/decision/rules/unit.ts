import type { Publisher, Theme } from '../../catalog/snapshot/types.ts';
import { hashText } from '../rank/random.ts';

/** What holds for the unit at a placement: the placement's word, else the theme's, else the publisher's. */
export type UnitRules = { enabled: boolean; offersPerResponse: number; deliveryPercentage: number };

export function unitOf(publisher: Publisher, theme: Theme | null, placementName: string): UnitRules {
  const placement = publisher.placements.get(placementName);
  return {
    enabled: placement?.unitEnabled ?? theme?.unitEnabled ?? publisher.unitEnabled,
    offersPerResponse: placement?.offersPerResponse ?? theme?.offersPerResponse ?? publisher.offersPerResponse,
    deliveryPercentage: placement?.deliveryPercentage ?? theme?.deliveryPercentage ?? publisher.deliveryPercentage,
  };
}

/**
 * Whether a user is among the share that gets offers: always the same answer for a user, and all of 30 % are among 40
 * %.
 */
export function isAmong(percentage: number, publisherId: number, userKey: string): boolean {
  return percentage >= 100 || (hashText(`${publisherId} ${userKey}`) / 2 ** 32) * 100 < percentage;
}

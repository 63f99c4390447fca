import { noonMs } from '../../test/decision/support.ts';
import type { Notice, View } from './policies.ts';
import type { World } from './world.ts';

type Noticing = {
  world: World;
  view: View;
  at: number;
  chance: (salt: number) => number;
  later: (atMs: number, notice: Notice) => void;
};

/** Generates the events that follow when an offer is shown. */
export function notice({ world, view, at, chance, later }: Noticing): void {
  const { offer, position, asker, atMs } = view;
  later(atMs, { what: 'seen', view, atMs, delayMs: 0 });
  const rate = world.clickRate(offer, asker, at) * (world.examination[position - 1] as number);
  const delayMs = 1000 * world.clickDelayS(chance(2));
  const isClick = chance(1) < rate && world.isLost?.(offer, atMs + delayMs - noonMs) !== true;
  later(atMs + delayMs, { what: 'outcome', view, isClick });
  if (!isClick) return;
  later(atMs + delayMs, { what: 'clicked', view, atMs: atMs + delayMs, delayMs });
  if (chance(3) >= world.conversionRate(offer)) return;
  const untilMs = 1000 * world.conversionDelayS(chance(4));
  later(atMs + delayMs + untilMs, { what: 'converted', view, atMs: atMs + delayMs + untilMs, delayMs: untilMs });
}

import type { UnitActions } from './actions.ts';
import type { Frame } from './frame.ts';
import type { UnitState } from './state.ts';

/** Unit on the page, with the functions that refresh and stop it. */
export type Unit = UnitState & {
  actions: UnitActions;
  frame: Frame;
  /** Replaces the frame that holds the page's own content with the SDK's frame. */
  useOwnFrame: () => void;
  /** Reports a clicked link before the browser follows it. */
  onLink: (url: string, event: Event) => void;
  /** Updates the displayed selection. */
  refresh: () => void;
  stopWatching: () => void;
  /** Stops watching whether the page removes the unit. */
  stopWatchingHost: () => void;
};

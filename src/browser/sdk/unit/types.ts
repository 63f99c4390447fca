import type { UnitActions } from './actions.ts';
import type { Frame } from './frame.ts';
import type { UnitState } from './state.ts';

/** A unit on the page, with the functions that refresh and stop it. */
export type Unit = UnitState & {
  actions: UnitActions;
  frame: Frame;
  /** Replaces the frame of the page's drawing by that of the SDK. */
  useOwnFrame: () => void;
  /** Reports a clicked link, before the browser follows it. */
  onLink: (url: string, event: Event) => void;
  /** Draws the selection. */
  refresh: () => void;
  stopWatching: () => void;
  /** Stops watching for the removal of the unit. */
  stopWatchingHost: () => void;
};

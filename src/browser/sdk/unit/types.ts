import type { UnitActions } from './actions.ts';
import type { Frame } from './frame.ts';
import type { UnitState } from './state.ts';

/** A unit on the page, with what its last unit left to refresh and to stop. */
export type Unit = UnitState & {
  actions: UnitActions;
  frame: Frame;
  /** Replaces the frame of what the page draws by that of the SDK. */
  useOwnFrame: () => void;
  /** Reports a clicked link, before the browser follows it. */
  onLink: (url: string, event: Event) => void;
  /** Draws the selection. */
  refresh: () => void;
  stopWatching: () => void;
  /** Ends the watch for a page that removes the unit. */
  stopWatchingHost: () => void;
};

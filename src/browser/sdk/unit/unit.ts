import { describeError, SdkError } from '../errors.ts';
import { createActions } from './actions.ts';
import { isCustom, openBareFrame } from './custom-view.ts';
import { draw } from './drawing.ts';
import { type FrameOptions, openFrame } from './frame.ts';
import { createState, type UnitOptions } from './state.ts';
import { targetOf } from './target.ts';
import type { Unit } from './types.ts';

/**
 * Shows the offers in a response (docs/reference/fetch-offers.md#show-offers).
 * @throws SdkError render_error; in that case, nothing is left on the page
 */
export function openUnit(options: UnitOptions): Unit {
  const { answer, config, beacons, emit, onEnd } = options;
  const state = createState(options);
  // The browser follows the link like any other link. In a web view, the host app may open it instead.
  const onLink = (url: string, event: Event): void => {
    if (emit('url_clicked', { target_url: url, url }) === false) event.preventDefault();
  };
  const actions = createActions(state, {
    redraw: () => draw(unit, true),
    end: (closing) => {
      for (const offer of closing) beacons.send('close', offer);
      removeUnit(unit);
      emit('closed_ads', { current: unit.index + 1, total: unit.offers.length });
      onEnd();
    },
    announce: (text) => unit.frame.announce(text),
  });
  const target = targetOf(config, answer);
  const frameOptions: FrameOptions = { ...state, target, bare: isCustom(config), onClose: actions.close, onLink };
  const unit: Unit = Object.assign(state, {
    actions,
    frame: frameOptions.bare && target !== null ? openBareFrame(target) : openFrame(frameOptions),
    useOwnFrame: () => {
      unit.frame.remove();
      unit.frame = openFrame({ ...frameOptions, bare: false });
    },
    onLink,
    refresh: () => {},
    stopWatching: () => {},
    stopWatchingHost: () => {},
  });
  unit.stopWatchingHost = watchHost(unit);
  try {
    draw(unit, false);
  } catch (err) {
    removeUnit(unit);
    throw new SdkError('render_error', describeError(err).message);
  }
  return unit;
}

/**
 * Watches whether the page removes the unit.
 * @returns a function that stops watching
 */
function watchHost(unit: Unit): () => void {
  let wasConnected = unit.frame.host.isConnected;
  const observer = new MutationObserver(() => {
    const { isConnected } = unit.frame.host;
    if (wasConnected && !isConnected) {
      removeUnit(unit);
      unit.onLost();
    }
    wasConnected = isConnected;
  });
  observer.observe(document, { childList: true, subtree: true });
  return () => observer.disconnect();
}

/** Removes the unit without firing beacons or emitting events. */
export function removeUnit(unit: Unit): void {
  unit.stopWatchingHost();
  unit.ended = true;
  unit.stopWatching();
  unit.frame.remove();
}

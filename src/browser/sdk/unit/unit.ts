import { SdkError } from '../errors.ts';
import type { AdConfig, Answer } from '../types.ts';
import { createActions } from './actions.ts';
import { draw, type Unit } from './drawing.ts';
import { openFrame } from './frame.ts';
import { createState, type UnitOptions } from './state.ts';

/**
 * Displays a response's offers (docs/interface.md#showing-offers).
 * @throws SdkError render_error when there is no element to embed it in
 */
export function openUnit(options: UnitOptions): Unit {
  const { answer, config, beacons, bridge, emit, onEnd } = options;
  const state = createState(options);
  const onLink = (url: string, event: Event | null): void => {
    if (bridge.present()) event?.preventDefault();
    else if (event === null) window.open(url, '_blank', 'noopener');
    emit('url_clicked', { target_url: url, url });
  };
  const actions = createActions(state, {
    redraw: () => draw(unit, true),
    end: (closing) => {
      for (const offer of closing) beacons.close(offer);
      removeUnit(unit);
      emit('closed_ads', { current: unit.index + 1, total: unit.offers.length });
      onEnd();
    },
    announce: (text) => frame.announce(text),
  });
  const frame = openFrame({ ...state, target: targetOf(config, answer), onClose: actions.close, onLink });
  const unit = Object.assign(state, { actions, frame, onLink, refresh: () => {}, stopWatching: () => {} });
  draw(unit, false);
  return unit;
}

/** Without beacons and events. */
export function removeUnit(unit: Unit): void {
  unit.ended = true;
  unit.stopWatching();
  unit.frame.remove();
}

/** The element of the page to embed the unit in; null: over the page. */
function targetOf(config: AdConfig, { settings: { embedded } }: Answer): Element | null {
  const wanted = config.targetElement ?? (embedded.enabled ? embedded.targetElement : '');
  if (wanted === '') return null;
  const found = typeof wanted === 'string' ? document.querySelector(wanted) : wanted;
  if (!(found instanceof Element)) throw new SdkError('render_error', 'There is no element targetElement.');
  return found;
}

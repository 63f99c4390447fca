import { type Api, callJson } from './api.ts';
import { type Beacons, createBeacons } from './beacons.ts';
import type { Bridge } from './bridge.ts';
import { type Carried, dropSession, keepSession } from './carry.ts';
import { describeError } from './errors.ts';
import { defaultLabels } from './labels.ts';
import { identityOf } from './prefetch.ts';
import type { AdConfig, Answer, Emit, UserPayload } from './types.ts';
import { openUnit, type Unit } from './unit.ts';
import { createUsp, type Usp } from './usp.ts';

/** One answer with all that belongs to it: its beacons, its perks, and the unit while it is shown. */
export type Showing = {
  answer: Answer;
  usp: Usp | null;
  unit: () => Unit | null;
  open: () => void;
  /** Takes the unit away and stops listening. */
  dispose: () => void;
};

export type ShowingOptions = {
  answer: Answer;
  config: AdConfig;
  /** As sent with the fetch. */
  user: UserPayload;
  carried: Carried | null;
  api: Api;
  base: string;
  bridge: Bridge;
  emit: Emit;
};

export function createShowing(options: ShowingOptions): Showing {
  const { answer, config, user, carried, api, base, bridge, emit } = options;
  const { settings, sessionId } = answer;
  const accountId = config.accountId as string;
  const pubUserId = String(user.pub_user_id ?? '');
  const beacons: Beacons = createBeacons(
    new URL(base).origin,
    (err) => emit('error', describeError(err, 'beacon_error')),
    carried?.seen,
  );
  let unit: Unit | null = null;

  const usp =
    settings.enable_usp && settings.multi_offer_unit && sessionId !== ''
      ? createUsp({
          api,
          sessionId,
          pubUserId,
          selected:
            carried?.selected ??
            (settings.usp_all_offers_checked ? answer.offers.map((offer) => offer.campaign_id) : []),
          pending: carried?.pending ?? [],
          confirmationEvent: settings.usp_confirmation_event,
          emit,
          onChange: () => {
            keep();
            unit?.refresh();
          },
        })
      : null;

  /** From the first tick to the confirmation. */
  function keep(): void {
    // Ticks that an earlier page left may be sent while this object is still being made.
    queueMicrotask(() => {
      if (usp === null) return;
      if (!usp.isOpen() && usp.pending().length === 0) return dropSession(accountId);
      const placement = String(user.placement ?? '');
      keepSession(accountId, {
        user: identityOf(user),
        placement,
        sessionId,
        pubUserId,
        confirmationEvent: settings.usp_confirmation_event,
        raw: answer.raw,
        selected: usp.selected(),
        pending: usp.pending(),
        seen: [...beacons.seen],
      });
    });
  }

  return {
    answer,
    usp,
    unit: () => unit,
    open: () => {
      unit?.remove();
      const labels = { ...defaultLabels, ...config.labels };
      const save = async (url: string): Promise<void> => void (await callJson('POST', url));
      const onEnd = (): void => {
        unit = null;
      };
      unit = openUnit({ answer, config, labels, base, beacons, usp, bridge, emit, save, onEnd });
    },
    dispose: () => {
      unit?.remove();
      unit = null;
      usp?.dispose();
    },
  };
}

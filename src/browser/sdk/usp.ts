import type { Api } from './api.ts';
import { describeError, SdkError } from './errors.ts';
import { withRetries } from './retry.ts';
import type { Emit } from './types.ts';

export type Tick = { campaignId: number; selected: boolean };

/** The perks of one session: what is ticked, in which order it reaches the server, and that it is confirmed once. */
export type Usp = {
  isSelected: (campaignId: number) => boolean;
  selected: () => number[];
  /** Ticks that the server has not answered yet. */
  pending: () => readonly Tick[];
  isOpen: () => boolean;
  set: (campaignId: number, selected: boolean) => void;
  /**
   * Sends what is pending, then wraps the session. Once: later calls answer the same. @returns whether it is wrapped
   */
  confirm: () => Promise<boolean>;
  dispose: () => void;
};

export type UspOptions = {
  api: Api;
  sessionId: string;
  pubUserId: string;
  selected: Iterable<number>;
  pending: readonly Tick[];
  /** DOM event of the page that confirms, on window or document. */
  confirmationEvent: string;
  emit: Emit;
  /** After every change, to keep it and to show it. */
  onChange: () => void;
};

/** Wait before ticks that failed are sent again (milliseconds). */
const againMs = 3000;

const isPassing = (err: unknown): boolean =>
  err instanceof SdkError && (err.kind === 'connection_error' || err.status === 429 || err.status >= 500);

export function createUsp(options: UspOptions): Usp {
  const { api, sessionId, emit, onChange } = options;
  const selected = new Set(options.selected);
  const pending: Tick[] = [];
  let sending: Promise<void> | null = null;
  let confirming: Promise<boolean> | null = null;
  let wrapCalled = false;
  let closed = false;

  const report = (err: unknown): void => emit('error', describeError(err, 'usp_error'));

  function apply(tick: Tick): void {
    if (tick.selected) selected.add(tick.campaignId);
    else selected.delete(tick.campaignId);
    pending.push(tick);
  }

  /** One call after another, so that the server sees the ticks in the user's order. */
  async function sendPending(): Promise<void> {
    for (let tick = pending[0]; tick !== undefined && confirming === null && !closed; tick = pending[0]) {
      try {
        await api.tick(sessionId, tick.campaignId, tick.selected, options.pubUserId);
      } catch (err) {
        if (isPassing(err)) return void setTimeout(drain, againMs);
        closed ||= err instanceof SdkError && err.status === 409;
        report(err);
      }
      pending.shift();
      onChange();
    }
  }

  function drain(): void {
    if (confirming !== null || pending.length === 0) return;
    sending ??= sendPending().finally(() => {
      sending = null;
    });
  }

  /** What is pending as one change: the last word on each campaign counts. */
  const pendingChange = () => {
    const last = new Map(pending.map((tick) => [tick.campaignId, tick.selected]));
    const idsThat = (wanted: boolean): number[] => [...last].filter(([, is]) => is === wanted).map(([id]) => id);
    return { selected: idsThat(true), unselected: idsThat(false) };
  };

  const wrap = () => {
    wrapCalled = true;
    return api.wrap(sessionId);
  };

  /** Nothing is awaited before the wrap where nothing is pending, so that it leaves before the page does. */
  async function wrapAll(): Promise<boolean> {
    try {
      if (sending !== null) await sending;
      if (pending.length > 0) await withRetries(() => api.change(sessionId, pendingChange()), isPassing);
      pending.length = 0;
      const view = await withRetries(wrap, isPassing);
      closed = true;
      onChange();
      emit('usp_confirmed', { selected: view.selected });
      return true;
    } catch (err) {
      confirming = null;
      report(err);
      return false;
    }
  }

  const confirm = (): Promise<boolean> => {
    confirming ??= wrapAll();
    return confirming;
  };
  const onConfirmation = (): void => void confirm();

  /** The page goes: what still waits is sent now, and outlives it. */
  const onPageHide = (): void => {
    if (closed) return;
    if (pending.length > 0) api.change(sessionId, pendingChange()).catch(() => {});
    if (confirming !== null && !wrapCalled) wrap().catch(() => {});
  };

  const listened: [EventTarget, string, () => void][] = [
    [window, options.confirmationEvent, onConfirmation],
    [document, options.confirmationEvent, onConfirmation],
    [window, 'pagehide', onPageHide],
  ];
  for (const [target, name, listener] of listened) target.addEventListener(name, listener);
  options.pending.forEach(apply);
  drain();

  return {
    isSelected: (campaignId) => selected.has(campaignId),
    selected: () => [...selected],
    pending: () => pending,
    isOpen: () => !closed && confirming === null,
    set: (campaignId, wanted) => {
      if (closed || confirming !== null || selected.has(campaignId) === wanted) return;
      apply({ campaignId, selected: wanted });
      onChange();
      emit(wanted ? 'usp_selected' : 'usp_unselected', { campaign_id: campaignId });
      drain();
    },
    confirm,
    dispose: () => {
      for (const [target, name, listener] of listened) target.removeEventListener(name, listener);
    },
  };
}

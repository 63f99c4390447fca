import { type EventKind, eventKinds, splitKind } from '../catalog/event-kinds.ts';
import { type MessageKey, t } from '../platform/i18n/messages.ts';

/** Reasons with a text of their own. Other reasons are shown as they are stored. */
const reasons = [
  'bot',
  'qr',
  'no_impression',
  'too_fast',
  'dev',
  'not_confirmed',
  'not_delivered',
  'unbilled',
  'unbilled_budget',
  'unbilled_currency',
] as const;

/** Describes why a row is not counted or not paid, or why a session is empty. */
export function reasonText(reason: string): string {
  const key = reasons.find((name) => name === reason);
  return key === undefined ? t('rows.emptySession', { reason }) : t(`rows.reason_${key}`);
}

/** Returns the display name of a kind of row. A custom event has its own name. */
export function kindText(stored: string): string {
  const { kind, name } = splitKind(stored);
  if (name !== '') return name;
  return kind in eventKinds || ['session', 'conversion', 'void'].includes(kind)
    ? t(`rows.kind_${kind as EventKind}` as MessageKey)
    : kind;
}

import { type EventKind, eventKinds, splitKind } from '../catalog/event-kinds.ts';
import { type MessageKey, t } from '../platform/i18n/messages.ts';
import { countryName } from '../shell/format.ts';
import { unknownValue } from './query/source.ts';

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

const systems: Readonly<Record<string, string>> = { ios: 'iOS', macos: 'macOS', ipados: 'iPadOS', linux: 'Linux' };
const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** Returns the display text of a country, device or operating system. Values of other dimensions are unchanged. */
export function valueWord(by: string, value: string): string {
  const isKnown = by === 'country' || by === 'device' || by === 'os';
  if (isKnown && value === unknownValue) return t('reports.unknown');
  if (by === 'country') return countryName(value);
  if (by === 'device') return capital(value);
  return by === 'os' ? (systems[value] ?? capital(value)) : value;
}

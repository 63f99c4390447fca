import type { CatalogStore } from '../catalog/store.ts';
import { brandColours } from '../catalog/themes.ts';
import type { Publisher } from '../catalog/types.ts';
import type { MessagePerk } from '../perks/perk-messages.ts';
import { languageOf } from '../platform/i18n/languages.ts';
import { inLanguage } from '../platform/i18n/reader.ts';
import type { Reader } from './addresses.ts';
import type { MessageKind } from './store.ts';
import { oneLine, renderMessage, renderQuestion, type Written } from './template.ts';

/** URL paths of the links in messages. */
export const readerPaths = { unsubscribe: '/messages/unsubscribe', confirm: '/messages/confirm' } as const;

type MintToken = { mint: (reader: Reader) => string };

type LinkDeps = { config: { publicUrl: string }; unsubscribeTokens: MintToken };

export type ComposeDeps = LinkDeps & { catalog: CatalogStore; confirmTokens: MintToken };

type About = { publisher: Publisher; fromName: string; language: string; reader: Reader };

/** Rendered message with its unsubscribe headers (RFC 8058) and sender name. */
export type Composed = Written & { fromName: string; headers: Record<string, string> };

const senderName = (fromName: string, { name }: Publisher): string => oneLine(fromName || name);

export function composeMessage(
  { config, unsubscribeTokens }: LinkDeps,
  { publisher, fromName, language, reader }: About,
  { kind, perks }: { kind: MessageKind; perks: readonly MessagePerk[] },
): Composed {
  const unsubscribeUrl = `${config.publicUrl}${readerPaths.unsubscribe}?t=${unsubscribeTokens.mint(reader)}`;
  const name = senderName(fromName, publisher);
  const brand = brandColours(publisher);
  const { timeZone } = publisher;
  const written = inLanguage(languageOf(language), () =>
    renderMessage({ publisher: name, brand, kind, perks, unsubscribeUrl, timeZone }),
  );
  const headers = {
    'list-unsubscribe': `<${unsubscribeUrl}>`,
    'list-unsubscribe-post': 'List-Unsubscribe=One-Click',
  };
  return { ...written, fromName: name, headers };
}

/** Composes the e-mail that asks whether an address may receive messages. */
export function composeQuestion(
  { config, confirmTokens }: ComposeDeps,
  { publisher, fromName, language, reader }: About,
): Composed {
  const name = senderName(fromName, publisher);
  const confirmUrl = `${config.publicUrl}${readerPaths.confirm}?t=${confirmTokens.mint(reader)}`;
  const written = inLanguage(languageOf(language), () =>
    renderQuestion({ publisher: name, brand: brandColours(publisher), confirmUrl }),
  );
  return { ...written, fromName: name, headers: {} };
}

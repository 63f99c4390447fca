import { randomBytes } from 'node:crypto';
import { isServedTo } from '../../catalog/provisioning.ts';
import { isLoaded } from '../../catalog/store.ts';
import type { Offer, OfferIndex, Publisher, Theme } from '../../catalog/types.ts';
import type { Pieces } from '../../platform/http/hot-routes.ts';
import type { Wanted } from '../../platform/i18n/reader.ts';
import { runInSlices } from '../../platform/lib/slices.ts';
import { type TokenCodec, tokenLength } from '../../platform/security/tracking-token.ts';
import { buildOfferView, clickUrl, fillCopy, hasMacros, type MacroValues, offerAt } from '../offer-view.ts';
import type { QrCodes } from '../qr.ts';

/** Response data that affects how its offers are rendered. */
export type AnswerContext = {
  publisher: Publisher;
  theme: Theme | null;
  sessionId: string;
  dev: boolean;
  hasUser: boolean;
  usp: boolean;
  macros: MacroValues;
  language: Wanted;
};

export type OfferRenderer = {
  /** Renders an offer for a response. `token` is its tracking token. */
  render: (answer: AnswerContext, offer: Offer, token: string) => Part;
  /** Creates the tracking token for an offer at a position in the session, starting at 1. */
  tokenOf: (answer: AnswerContext, offer: Offer, position: number) => string;
  /**
   * Renders the QR codes of the publishers' first offers that have not been rendered yet, between requests. Publishers
   * that are not loaded are skipped.
   */
  prepare: (publishers: Iterable<Publisher>) => Promise<void>;
};

/** Compiled offer of a publisher: its QR code URL, and its templates with and without a save URL. */
type Compiled = {
  language: string;
  ownEvents: readonly string[];
  qrUrl: string;
  plain: OfferTemplate | null;
  saveable: OfferTemplate | null;
};

const variantFor = (hasUser: boolean): 'plain' | 'saveable' => (hasUser ? 'saveable' : 'plain');

/**
 * Maximum position in a token, which stores the position in one byte. Offers further down an offerwall use this
 * maximum.
 */
const maxPosition = 255;

/**
 * Maximum number of offers of a publisher whose QR codes are rendered in advance, and of all publishers whose QR codes
 * are rendered before one of their offers is shown. Each takes about 1 KB.
 */
const maxPrepared = 2000;

export type RendererDeps = { publicUrl: string; tokens: TokenCodec; qrCodes: QrCodes; now: () => number };

/**
 * Creates an offer renderer, which caches one template per offer and publisher. Offers with macros are rendered for
 * each request.
 */
export function createOfferRenderer({ publicUrl, tokens, qrCodes, now }: RendererDeps): OfferRenderer {
  const compiledOf = createCompiledOffers((publisher, offer) =>
    clickUrl(publicUrl, tokens.mint(linkClaims(publisher, offer))),
  );

  function view({ publisher, hasUser, macros }: AnswerContext, offer: Offer, token: string): string {
    const qrCode = qrCodes(compiledOf(publisher, offer).qrUrl);
    const copy = fillCopy(offer.copy, macros);
    return asciiJson(buildOfferView({ offer, publisher, copy, token, hasUser, qrCode, publicUrl }));
  }

  function templateOf(answer: AnswerContext, offer: Offer): OfferTemplate {
    const compiled = compiledOf(answer.publisher, offer);
    const variant = variantFor(answer.hasUser);
    if (compiled[variant] === null) {
      compiled[variant] = compileTemplate(view(answer, offer, tokenPlaceholder));
      prepareCodes(answer.publisher).catch(() => {}); // a request will report the error
    }
    return compiled[variant];
  }

  /** Indexes of publishers whose QR codes have been rendered in advance, or soon will be. */
  const prepared = new WeakSet<OfferIndex>();

  /**
   * Renders the QR codes of a publisher's other offers between requests. Otherwise, each offer that is shown for the
   * first time would delay its request by as much as the whole decision.
   */
  async function prepareCodes(publisher: Publisher): Promise<void> {
    if (prepared.has(publisher.index)) return;
    prepared.add(publisher.index);
    await runInSlices(renderCodes(publisher));
  }

  function* renderCodes(publisher: Publisher): Generator<void, void> {
    for (const offer of publisher.index.offers.slice(0, maxPrepared)) {
      yield;
      if (isServedTo(offer, publisher)) qrCodes(compiledOf(publisher, offer).qrUrl);
    }
  }

  return {
    render: (answer, snapshotOffer, token) => {
      const offer = offerAt(snapshotOffer, now());
      return hasMacros(offer.copy) ? view(answer, offer, token) : { template: templateOf(answer, offer), token };
    },
    tokenOf: (answer, offer, position) =>
      tokens.mint({
        publisherId: answer.publisher.id,
        sessionId: answer.sessionId,
        offerId: offer.id,
        campaignId: offer.campaign.id,
        position: Math.min(position, maxPosition),
        dev: answer.dev,
      }),
    prepare: async (publishers) => {
      let offers = 0;
      for (const publisher of publishers) {
        if (offers >= maxPrepared) return;
        if (!isLoaded(publisher)) continue;
        offers += publisher.index.offers.length;
        await prepareCodes(publisher);
      }
    },
  };
}

/**
 * Returns the token claims for an offer's QR code, which links to the campaign's click URL for this publisher without a
 * session.
 */
const linkClaims = (publisher: Publisher, { id, campaign }: Offer) => ({
  publisherId: publisher.id,
  sessionId: null,
  offerId: id,
  campaignId: campaign.id,
  position: 0,
  dev: false,
});

/**
 * Creates a cache of compiled offers, keyed by publisher and its settings. Entries stay valid across snapshots, because
 * an unchanged offer is the same object in the next snapshot.
 */
function createCompiledOffers(qrUrlOf: (publisher: Publisher, offer: Offer) => string) {
  const compiledOffers = new WeakMap<Offer, Map<number, Compiled>>();
  return (publisher: Publisher, offer: Offer): Compiled => {
    let ofOffer = compiledOffers.get(offer);
    if (ofOffer === undefined) {
      ofOffer = new Map();
      compiledOffers.set(offer, ofOffer);
    }
    const key = publisher.id * 4 + (publisher.walletEnabled ? 2 : 0) + (publisher.offerwallEnabled ? 1 : 0);
    let compiled = ofOffer.get(key);
    const language = publisher.language.key;
    if (compiled?.language !== language || compiled.ownEvents !== publisher.ownEvents) {
      compiled = {
        language,
        ownEvents: publisher.ownEvents,
        qrUrl: qrUrlOf(publisher, offer),
        plain: null,
        saveable: null,
      };
      ofOffer.set(key, compiled);
    }
    return compiled;
  };
}

/** Template in a one-byte encoding: its bytes, and the offsets at which the token is inserted. */
type OfferTemplate = { bytes: Buffer; tokenOffsets: readonly number[] };

/** Placeholder for the token in a template. It has the same length as a token. */
const tokenPlaceholder = randomBytes((tokenLength * 3) / 4).toString('base64url');

function compileTemplate(text: string): OfferTemplate {
  const tokenOffsets: number[] = [];
  for (let at = text.indexOf(tokenPlaceholder); at !== -1; at = text.indexOf(tokenPlaceholder, at + tokenLength))
    tokenOffsets.push(at);
  return { bytes: Buffer.from(text, 'latin1'), tokenOffsets };
}

/**
 * Writes a template to the buffer at `offset`, with the token filled in.
 * @returns the end offset
 */
function writeTemplate({ bytes, tokenOffsets }: OfferTemplate, token: string, into: Buffer, offset: number): number {
  into.set(bytes, offset);
  const [first, ...others] = tokenOffsets;
  if (first !== undefined) {
    into.write(token, offset + first, 'latin1');
    for (const other of others) into.copyWithin(offset + other, offset + first, offset + first + tokenLength);
  }
  return offset + bytes.length;
}

/** Part of a response: text in a one-byte encoding, or an offer template with its token. */
export type Part = string | Buffer | { template: OfferTemplate; token: string };

/** Joins parts into a response. */
export function joinParts(parts: readonly Part[]): Pieces {
  let length = 0;
  for (const part of parts) length += (isOffer(part) ? part.template.bytes : part).length;
  return { length, writeTo: (bytes) => writeParts(parts, bytes) };
}

function writeParts(parts: readonly Part[], bytes: Buffer): void {
  let at = 0;
  for (const part of parts) {
    if (isOffer(part)) at = writeTemplate(part.template, part.token, bytes, at);
    else if (typeof part === 'string') at += bytes.write(part, at, 'latin1');
    else {
      bytes.set(part, at);
      at += part.length;
    }
  }
}

const isOffer = (part: Part): part is { template: OfferTemplate; token: string } =>
  typeof part === 'object' && !Buffer.isBuffer(part);

/**
 * Serialises a value to JSON and escapes all non-ASCII characters, so that each character is exactly one byte and no
 * encoding step is needed.
 */
export const asciiJson = (value: unknown): string =>
  JSON.stringify(value).replace(
    /[\u0080-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

import {
  buildAppearance,
  buildSettings,
  buildStyles,
  privacyUrlOf,
  translateSettings,
  translateStyles,
} from '../../catalog/theme-settings.ts';
import type { Offer, Publisher, Theme } from '../../catalog/types.ts';
import type { Assigned } from '../../experiments/assign.ts';
import { bytesOf, type Pieces } from '../../platform/http/hot-routes.ts';
import type { Language } from '../../platform/i18n/languages.ts';
import type { PendingFetch } from '../fetch/pending-fetch.ts';
import type { MacroValues } from '../offer-view.ts';
import type { SessionRecord } from '../session-record.ts';
import {
  type AnswerContext,
  asciiJson,
  createOfferRenderer,
  joinParts,
  type OfferRenderer,
  type Part,
  type RendererDeps,
} from './offer-renderer.ts';

/** One answered fetch, ready to be rendered as JSON. */
type Answer = AnswerContext & { offers: readonly Offer[]; assigned: Assigned | null };

/**
 * One page of an offerwall. `position`: in its session, from 1. `token`: that of another session, where the offer was
 * shown before. `extra`: further members of `data`.
 */
type WallAnswer = Omit<AnswerContext, 'usp'> & {
  page: readonly { offer: Offer; position: number; token?: string }[];
  extra: Readonly<Record<string, unknown>>;
};

export type Renderer = {
  prepare: OfferRenderer['prepare'];
  /** The answer's JSON (docs/reference/fetch-offers.md#response). */
  render: (answer: Answer) => Pieces;
  /** The same for a page of an offerwall, with its further members. */
  renderWall: (answer: WallAnswer) => Promise<Buffer>;
};

/** The bytes of an answer before and after its session id. */
type Frame = readonly [beforeSession: Buffer, afterSession: Buffer];

/**
 * Renders answers. What does not depend on the request is rendered once for each offer of a snapshot; for each request
 * only the token is filled in; offers with macros are rendered for each request.
 */
export function createRenderer(deps: RendererDeps): Renderer {
  const offerRenderer = createOfferRenderer(deps);
  const frameOf = createFrames(deps.publicUrl);

  /** @param members further members of `data`, as JSON with a comma before each */
  function partsOf(answer: AnswerContext, offers: readonly Part[], members: string): Part[] {
    const [beforeSession, afterSession] = frameOf(answer);
    const parts: Part[] = [`${opening}"offers":[`];
    for (const [index, offer] of offers.entries()) {
      if (index > 0) parts.push(',');
      parts.push(offer);
    }
    parts.push(`],"count":${offers.length}${members}`, beforeSession, answer.sessionId, afterSession);
    return parts;
  }

  return {
    prepare: offerRenderer.prepare,
    render: (answer) => {
      const offers = answer.offers.map((offer, index) =>
        offerRenderer.render(answer, offer, offerRenderer.tokenOf(answer, offer, index + 1)),
      );
      return joinParts(partsOf(answer, offers, answer.assigned === null ? '' : membersOf(answer.assigned)));
    },
    renderWall: async ({ page, extra, ...context }) => {
      const answer = { ...context, usp: false };
      const shown = page.map(({ offer }) => offer);
      await offerRenderer.prepare(answer.publisher, shown, answer.hasUser);
      const offers = page.map(({ offer, position, token }) =>
        offerRenderer.render(answer, offer, token ?? offerRenderer.tokenOf(answer, offer, position)),
      );
      const members = Object.entries(extra).map(([name, value]) => `,"${name}":${asciiJson(value)}`);
      return bytesOf(joinParts(partsOf(answer, offers, members.join(''))));
    },
  };
}

/** What experiments add to an answer. */
const membersOf = ({ announced, labels }: Assigned): string =>
  `${announced.length === 0 ? '' : `,"experiments":${asciiJson(announced)}`}${
    labels === null ? '' : `,"labels":${asciiJson(labels)}`
  }`;

/** What an answer has before and after the members of its `data`. */
const opening = '{"data":{';
const closing = '}}';

/** The answers of several placements as one: of each, its name and all members of its `data`. */
export function joinAnswers(named: readonly { name: string; answer: Pieces }[]): Pieces {
  const members = named.flatMap(({ name, answer }, index): Part[] => [
    `${index === 0 ? '' : ','}{"name":${asciiJson(name)},`,
    bytesOf(answer).subarray(opening.length, -closing.length),
    '}',
  ]);
  return joinParts([`${opening}"placements":[`, ...members, `]${closing}`]);
}

/** Frames with the settings and styles of a theme, rendered once for each publisher of a snapshot. */
function createFrames(publicUrl: string) {
  const frames = new WeakMap<Publisher, WeakMap<Theme | Publisher, Map<string, Frame>>>();
  return ({ publisher, theme, usp, language }: AnswerContext): Frame => {
    let ofPublisher = frames.get(publisher);
    if (ofPublisher === undefined) {
      ofPublisher = new WeakMap();
      frames.set(publisher, ofPublisher);
    }
    // Arms have themes of their own, which have the id of another.
    let ofTheme = ofPublisher.get(theme ?? publisher);
    if (ofTheme === undefined) {
      ofTheme = new Map();
      ofPublisher.set(theme ?? publisher, ofTheme);
    }
    const words = language.unit ?? publisher.language.unit ?? 'en';
    const key = usp ? `usp ${words}` : words;
    let frame = ofTheme.get(key);
    if (frame === undefined) {
      frame = renderFrame(publisher, theme, usp, publicUrl, words);
      ofTheme.set(key, frame);
    }
    return frame;
  };
}

function renderFrame(
  publisher: Publisher,
  theme: Theme | null,
  usp: boolean,
  publicUrl: string,
  language: Language,
): Frame {
  const privacyUrl = privacyUrlOf(publisher, publicUrl, language);
  const settings = translateSettings(buildSettings(publisher, theme, usp, privacyUrl), language);
  const styles = { ...translateStyles(buildStyles(publisher, theme, privacyUrl), language), settings };
  const appearance = buildAppearance(theme);
  const more = appearance === null ? '' : `,"appearance":${asciiJson(appearance)}`;
  return [
    Buffer.from(`,"language":"${language}","privacy_url":${asciiJson(privacyUrl)},"session_id":"`, 'latin1'),
    Buffer.from(`","settings":${asciiJson(settings)},"styles":${asciiJson(styles)}${more}${closing}`, 'latin1'),
  ];
}

export type DecidedFetch = { pending: PendingFetch; session: SessionRecord };

/** A session with its answer; null for an offerwall, which is rendered page by page. */
export type FetchResult = { session: SessionRecord; answer: Pieces | null };

/** A result, or why its answer could not be rendered. */
export type RenderedFetch = FetchResult | Promise<FetchResult>;

type ShownSession = {
  id: string;
  dev: boolean;
  pubUserId: string | null;
  usp: boolean;
  offers: readonly Offer[];
  macros: MacroValues;
};

/** The answer of a session to its fetch. */
export const renderSession = (
  renderer: Renderer,
  { publisher, theme, language, assigned }: PendingFetch,
  session: ShownSession,
): Pieces =>
  renderer.render({
    publisher,
    theme,
    sessionId: session.id,
    dev: session.dev,
    hasUser: session.pubUserId !== null,
    usp: session.usp,
    offers: session.offers,
    macros: session.macros,
    assigned,
    language,
  });

/**
 * Renders the answers of a batch. One that cannot be rendered fails alone: the others of its batch are committed with
 * it. Synchronous where no QR code has to be made first, as nearly always.
 */
export function renderSessions(
  renderer: Renderer,
  decided: readonly DecidedFetch[],
): RenderedFetch[] | Promise<RenderedFetch[]> {
  const preparing = decided.map(({ pending, session }) =>
    pending.surface.kind === 'unit'
      ? renderer.prepare(pending.publisher, session.offers, session.pubUserId !== null)
      : undefined,
  );
  if (preparing.every((one) => one === undefined)) return decided.map((one) => renderOne(renderer, one));
  return Promise.allSettled(preparing).then((prepared) =>
    prepared.map((one, index) =>
      one.status === 'rejected' ? failure(one.reason) : renderOne(renderer, decided[index] as DecidedFetch),
    ),
  );
}

function renderOne(renderer: Renderer, { pending, session }: DecidedFetch): RenderedFetch {
  try {
    return { session, answer: pending.surface.kind === 'unit' ? renderSession(renderer, pending, session) : null };
  } catch (err) {
    return failure(err);
  }
}

/** A rejection that may be handled later than at once. */
function failure(err: unknown): Promise<never> {
  const failed = Promise.reject(err);
  failed.catch(() => {});
  return failed;
}

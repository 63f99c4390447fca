import {
  buildAppearance,
  buildSettings,
  buildStyles,
  privacyUrlOf,
  translateSettings,
  translateStyles,
} from '../../catalog/themes.ts';
import type { Offer, Publisher, Theme } from '../../catalog/types.ts';
import type { Assigned } from '../../experiments/assign.ts';
import { bytesOf, type Pieces } from '../../platform/http/hot-routes.ts';
import type { Language } from '../../platform/i18n/languages.ts';
import type { FetchDecision } from '../fetch/decide-session.ts';
import type { PendingFetch } from '../fetch/pending-fetch.ts';
import type { MacroValues } from '../offer-view.ts';
import {
  type AnswerContext,
  asciiJson,
  createOfferRenderer,
  joinParts,
  type OfferRenderer,
  type Part,
  type RendererDeps,
} from './offer-renderer.ts';

/** Answered fetch, ready to be rendered as JSON. */
type FetchAnswer = AnswerContext & { offers: readonly Offer[]; assigned: Assigned | null };

/**
 * Offerwall page to render. `position` is the offer's position in the session, starting at 1. `token` is set if the
 * offer was first shown in another session, to which the token belongs. `extra` contains additional members of `data`.
 */
type WallAnswer = Omit<AnswerContext, 'usp'> & {
  page: readonly { offer: Offer; position: number; token?: string }[];
  extra: Readonly<Record<string, unknown>>;
};

export type Renderer = {
  /** Renders a fetch response as JSON (docs/reference/fetch-offers.md#response). */
  render: (answer: FetchAnswer) => Pieces;
  /** Renders an offerwall page with its additional members. */
  renderWall: (answer: WallAnswer) => Buffer;
  prepare: OfferRenderer['prepare'];
};

/** Response bytes before and after the session ID. */
type Frame = readonly [beforeSession: Buffer, afterSession: Buffer];

/**
 * Creates a response renderer. Parts that do not depend on the request are rendered once per offer and snapshot, and
 * each request only fills in the token. Offers with macros are rendered for each request.
 */
export function createRenderer(deps: RendererDeps): Renderer {
  const offerRenderer = createOfferRenderer(deps);
  const frameOf = createFrames(deps.publicUrl);

  /**
   * Assembles the parts of a response.
   * @param members additional members of `data` as JSON, each with a leading comma
   */
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
    renderWall: ({ page, extra, ...context }) => {
      const answer = { ...context, usp: false };
      const offers = page.map(({ offer, position, token }) =>
        offerRenderer.render(answer, offer, token ?? offerRenderer.tokenOf(answer, offer, position)),
      );
      const members = Object.entries(extra).map(([name, value]) => `,"${name}":${asciiJson(value)}`);
      return bytesOf(joinParts(partsOf(answer, offers, members.join(''))));
    },
  };
}

/** Returns the response members that experiments add. */
const membersOf = ({ announced, labels }: Assigned): string =>
  `${announced.length === 0 ? '' : `,"experiments":${asciiJson(announced)}`}${
    labels === null ? '' : `,"labels":${asciiJson(labels)}`
  }`;

/** Start of a response, up to the members of its `data`. */
const opening = '{"data":{';
const closing = '}}';

/** Combines the responses for several placements. Each has its placement name and all members of its `data`. */
export function joinAnswers(placements: readonly { name: string; answer: Pieces }[]): Pieces {
  const members = placements.flatMap(({ name, answer }, index): Part[] => [
    `${index === 0 ? '' : ','}{"name":${asciiJson(name)},`,
    bytesOf(answer).subarray(opening.length, -closing.length),
    '}',
  ]);
  return joinParts([`${opening}"placements":[`, ...members, `]${closing}`]);
}

/**
 * Creates a cache of response frames, which contain the theme's settings and styles. Each frame is rendered once per
 * publisher and snapshot.
 */
function createFrames(publicUrl: string) {
  const frames = new WeakMap<Publisher, WeakMap<Theme | Publisher, Map<string, Frame>>>();
  return ({ publisher, theme, usp, language }: AnswerContext): Frame => {
    let ofPublisher = frames.get(publisher);
    if (ofPublisher === undefined) {
      ofPublisher = new WeakMap();
      frames.set(publisher, ofPublisher);
    }
    // The theme object is the key, not its ID: an experiment arm's modified theme has the same ID as the original
    // theme.
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

/** Decision and its response. The response is null for an offerwall, which is rendered page by page. */
export type FetchResult = { decision: FetchDecision; answer: Pieces | null };

/** Rendered fetch, or a promise that rejects if its response could not be rendered. */
export type RenderedFetch = FetchResult | Promise<FetchResult>;

type ShownSession = {
  id: string;
  dev: boolean;
  pubUserId: string | null;
  usp: boolean;
  offers: readonly Offer[];
  macros: MacroValues;
};

/** Renders the response of a session. */
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
 * Renders the responses for a batch. If one response cannot be rendered, only that fetch fails, and the others are
 * still committed.
 */
export const renderSessions = (renderer: Renderer, decisions: readonly FetchDecision[]): RenderedFetch[] =>
  decisions.map((decision) => renderOne(renderer, decision));

function renderOne(renderer: Renderer, decision: FetchDecision): RenderedFetch {
  const { fetch, session } = decision;
  try {
    return { decision, answer: fetch.surface.kind === 'unit' ? renderSession(renderer, fetch, session) : null };
  } catch (err) {
    return failure(err);
  }
}

/** Creates a rejected promise that can be handled later without triggering an unhandled rejection. */
function failure(err: unknown): Promise<never> {
  const failed = Promise.reject(err);
  failed.catch(() => {});
  return failed;
}

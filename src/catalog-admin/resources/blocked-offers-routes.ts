import { type Static, Type } from '@sinclair/typebox';
import type { FastifyRequest } from 'fastify';
import type { Block, Publisher } from '../../catalog/types.ts';
import { callOf, type ManagementHttp, publisherQuery, type requirePermission } from '../../management/http.ts';
import { strictBody } from '../../management/strict-body.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import { blocksOfSample, listBlockedOffers } from './blocked-offers.ts';
import { getControls } from './controls.ts';

const path = '/manage/v1/publishers/:id/controls';
const tags = ['Publishers'];
const params = Type.Object({ id: Type.String() });
type IdRoute = { Params: Static<typeof params> };

const blockView = Type.Object(
  {
    by: Type.String({
      description: 'Kind of rule, such as `domain`, or `not_domain` if the domain is not in the list of allowed ones.',
    }),
    value: Type.String(),
    placement: Type.Union([Type.String(), Type.Null()], {
      title: 'BlockPlacement',
      description: 'Placement that the rule applies to, or `null` for all placements.',
    }),
  },
  { title: 'BlockReason' },
);
const blocks = Type.Array(blockView, { description: 'Rules that block the offer.' });

const blockedAnswer = Type.Object(
  {
    message: Type.String(),
    data: Type.Array(
      Type.Object(
        {
          offer_id: Type.Integer(),
          campaign_id: Type.Integer(),
          title: Type.String(),
          advertiser_name: Type.String(),
          blocks,
        },
        { title: 'BlockedOffer' },
      ),
    ),
  },
  { title: 'BlockedOffersAnswer' },
);

const part = (description: string) => Type.String({ maxLength: 2048, default: '', description });
const sampleBody = Type.Object(
  {
    landing_url: part('URL of the landing page.'),
    advertiser_name: part('Name of the advertiser.'),
    category: part('Category of the campaign.'),
    text: part('Text of the offer.'),
  },
  { title: 'OfferSample', additionalProperties: false },
);
const testAnswer = Type.Object(
  { message: Type.String(), data: Type.Object({ blocked: Type.Boolean(), blocks }) },
  { title: 'ControlsTestAnswer' },
);

/** Hooks that authenticate a call and load the publisher in its path. */
export type RouteHooks = ReturnType<typeof requirePermission> & {
  preHandler: (request: FastifyRequest) => Promise<void>;
};

type RouteDeps = { find: (publisherId: number) => Publisher | undefined; hooks: RouteHooks };

/** Registers the routes that list the blocked offers, and that test the block rules. */
export function blockedOfferRoutes(app: App, http: ManagementHttp, { find, hooks }: RouteDeps): void {
  const publisherOf = async (request: Parameters<typeof callOf>[0] & { params: unknown }) => {
    const { actor, publisherId } = callOf(request);
    const { id } = request.params as Static<typeof params>;
    const { view, inForce } = await http.management.read(actor, publisherId, (work) => getControls(work, id, find));
    const publisher = find(view.publisher_id);
    if (publisher === undefined) throw new AppError('resource_not_found');
    return { publisher, stored: inForce };
  };

  const listSchema = {
    operationId: 'listBlockedOffers',
    summary: 'List blocked offers',
    description:
      'Returns the active offers that block rules exclude at some or all placements, and the rules that exclude them.',
    tags,
    params,
    querystring: publisherQuery,
    response: { 200: blockedAnswer, ...errorAnswers(401, 403, 404) },
  };
  app.get<IdRoute>(`${path}/blocked`, { schema: listSchema, ...hooks }, async (request) => {
    const { publisher } = await publisherOf(request);
    const blocked = await listBlockedOffers(publisher);
    const data = blocked.map(({ offer, blocks }) => ({
      offer_id: offer.id,
      campaign_id: offer.campaign.id,
      title: offer.copy.title,
      advertiser_name: offer.campaign.advertiserName,
      blocks: blocks.map(viewOf),
    }));
    return { message: 'Blocked offers found.', data };
  });

  const testSchema = {
    operationId: 'testControls',
    summary: 'Test the block rules',
    description: 'Returns the rules that would block an offer with these properties. All properties are optional.',
    tags,
    params,
    querystring: publisherQuery,
    body: sampleBody,
    response: { 200: testAnswer, ...errorAnswers(400, 401, 403, 404) },
  };
  const options = { schema: testSchema, ...hooks, ...strictBody, config: { effect: 'read' } as const };
  app.post<IdRoute>(`${path}/test`, options, async (request) => {
    const { publisher, stored } = await publisherOf(request);
    const {
      landing_url: landingUrl,
      advertiser_name: advertiser,
      category,
      text,
    } = request.body as Static<typeof sampleBody>;
    const reasons = blocksOfSample(publisher, stored, { landingUrl, advertiser, category, text });
    return { message: 'Block rules tested.', data: { blocked: reasons.length > 0, blocks: reasons.map(viewOf) } };
  });
}

const viewOf = ({ by, value, placement }: Block) => ({ by, value, placement: placement ?? null });

import type { App } from '../../platform/ports.ts';
import { pagesOfAdvertiser } from '../../shell/pages.ts';
import { activityPage } from './activity.ts';
import { campaignPage, campaignsPage } from './campaigns.ts';
import { conversionsPage, trackingPage } from './conversions.ts';
import { draftPage, draftsPage, withdrawDraft } from './drafts.ts';
import { newOfferPage, offerPage, proposeCampaign, proposeOffer, proposePicture } from './propose.ts';
import { reportCsv, reportPage } from './reports.ts';
import type { PageServices } from './services.ts';

/** The pages of an advertiser's accounts. They propose; they do not publish. */
export function advertiserPages(app: App, services: PageServices): void {
  const { get, post } = pagesOfAdvertiser(app, services);
  const role = 'advertiser';
  get('', role, (context) => campaignsPage(services, context));
  get('/campaigns', role, (context) => campaignsPage(services, context));
  get('/campaigns/:key', role, (context) => campaignPage(services, context));
  post('/campaigns/:key', role, (context, fields) => proposeCampaign(services, context, fields));
  get('/offers/new', role, (context) => newOfferPage(services, context));
  post('/offers', role, (context, fields) => proposeOffer(services, context, fields, true));
  get('/offers/:key', role, (context) => offerPage(services, context));
  post('/offers/:key', role, (context, fields) => proposeOffer(services, context, fields, false));
  post('/offers/:key/pictures', role, (context, fields) => proposePicture(services, context, fields));
  get('/drafts', role, (context) => draftsPage(services, context));
  get('/drafts/:key', role, (context) => draftPage(services, context));
  post('/drafts/:key/withdraw', role, (context) => withdrawDraft(services, context));
  get('/reports', role, (context) => reportPage(services, context));
  get('/reports/csv', role, (context) => reportCsv(services, context));
  get('/conversions', role, (context) => conversionsPage(services, context));
  get('/tracking', role, (context) => trackingPage(services, context));
  get('/activity', role, (context) => activityPage(services, context));
}

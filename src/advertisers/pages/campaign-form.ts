import type { DraftDetails } from '../../drafts/details.ts';
import type { Values, View } from '../../management/resource.ts';
import { type Html, html } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { card, saveForm } from '../../shell/components.ts';
import { type FieldErrors, type Fields, type FormValues, keyIn } from '../../shell/context.ts';
import { editedInstant, instantToLocal } from '../../shell/format.ts';
import { createForm } from '../../shell/forms.ts';
import type { Page } from '../../shell/layout.ts';
import type { PageResult } from '../../shell/pages.ts';
import { ownRows } from '../scope.ts';
import {
  noteField,
  proposalErrors,
  proposeButton,
  proposeDraft,
  revisedField,
  revisedIn,
  revisedNotice,
  revisionCancel,
  revisionHead,
} from './propose.ts';
import { type AdvertiserContext, type PageServices, zoneOf } from './services.ts';

type Zone = { timeZone: string };
type Dates = { start_at?: string | null; end_at?: string | null };

export const datesOf = (view: View): { start_at?: string; end_at?: string } =>
  (view.rules as { schedule?: { start_at?: string; end_at?: string } }).schedule ?? {};

type CampaignForm = { typed?: FormValues; errors?: FieldErrors; revised?: DraftDetails | null };

/** Renders the form that proposes changes to a campaign. */
export function campaignForm(
  context: AdvertiserContext,
  view: View,
  zone: Zone,
  { typed, errors, revised = null }: CampaignForm = {},
): Html {
  const form = createForm(typed ?? formValues(view, datesOf(view), zone), errors);
  return saveForm(
    context,
    context.path(`/campaigns/${view.id}`),
    html`
      ${form.summary()}
      ${revisedField(revised)}
      ${form.input('landing_url', { label: t('campaigns.landingPage'), type: 'url', required: true })}
      ${form.textarea('offer_description', { label: t('campaigns.fullDescription'), rows: 3 })}
      ${form.input('start_at', {
        label: t('advertiser.from'),
        type: 'datetime-local',
        hint: t('campaigns.startHint', { zone: zone.timeZone }),
      })}
      ${form.input('end_at', {
        label: t('advertiser.until'),
        type: 'datetime-local',
        hint: t('advertiser.untilHint', { zone: zone.timeZone }),
      })}
      ${noteField(form)}`,
    { button: proposeButton(revised), once: true, ...revisionCancel(context, revised) },
  );
}

function formValues({ landing_url, offer_description }: Values, { start_at, end_at }: Dates, zone: Zone): FormValues {
  const local = (at: string | null | undefined): string => instantToLocal(at ?? '', zone.timeZone);
  return { landing_url, offer_description, start_at: local(start_at), end_at: local(end_at), note: '' } as FormValues;
}

/** Renders the page that changes a draft of a campaign and proposes it again. */
export async function reviseCampaignPage(
  services: PageServices,
  context: AdvertiserContext,
  revised: DraftDetails,
): Promise<Page> {
  const { kinds, management } = services;
  const { changes, campaign_id } = revised.draft;
  const view = await management.get(context, ownRows(kinds, context.advertiser).campaigns, campaign_id);
  const zone = zoneOf(services, context);
  const dates = (changes.schedule as Dates | undefined) ?? datesOf(view);
  return formPage(context, view, zone, { typed: formValues({ ...view, ...changes }, dates, zone), revised });
}

const formPage = (context: AdvertiserContext, view: View, zone: Zone, options: CampaignForm): Page => ({
  title: String(view.name),
  nav: 'advertiser-campaigns',
  trail: [{ text: t('nav.campaigns'), href: context.path('/campaigns') }],
  ...revisionHead(context, options.revised ?? null),
  status: (options.errors ?? []).length > 0 ? 422 : 200,
  body: html`
    ${revisedNotice(options.revised ?? null)}
    ${card(t('advertiser.proposeChange'), campaignForm(context, view, zone, options))}`,
});

/** Converts an entered date to a time. Returns null if the date is empty. */
const dateOf = (typed: string, stored: string, { timeZone }: Zone): string | null =>
  editedInstant(typed, stored, timeZone) || null;

/** Proposes changes to a campaign. */
export async function proposeCampaign(
  services: PageServices,
  context: AdvertiserContext,
  fields: Fields,
): Promise<PageResult> {
  const { kinds, management } = services;
  const view = await management.get(context, ownRows(kinds, context.advertiser).campaigns, keyIn(context));
  const revised = await revisedIn(services, context, fields);
  const zone = zoneOf(services, context);
  const { start_at = '', end_at = '' } = datesOf(view);
  const dates = { start_at: fields.text('start_at'), end_at: fields.text('end_at') };
  const texts = { landing_url: fields.text('landing_url'), offer_description: fields.text('offer_description') };
  const schedule = { start_at: dateOf(dates.start_at, start_at, zone), end_at: dateOf(dates.end_at, end_at, zone) };
  const note = fields.text('note');
  try {
    const changes = { ...texts, schedule };
    const proposal = { resource: 'campaigns', rowId: Number(view.id), changes, note, image: null };
    return await proposeDraft(services, context, proposal, revised);
  } catch (err) {
    return formPage(context, view, zone, { typed: { ...texts, ...dates, note }, errors: proposalErrors(err), revised });
  }
}

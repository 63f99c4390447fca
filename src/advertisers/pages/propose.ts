import type { DraftDetails } from '../../drafts/details.ts';
import type { HandedIn, Proposal } from '../../management/approval.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { hiddenField, notice } from '../../shell/components.ts';
import { type FieldErrors, type Fields, fieldErrorsOf } from '../../shell/context.ts';
import type { FormBuilder } from '../../shell/forms.ts';
import type { Page } from '../../shell/layout.ts';
import type { PageResult } from '../../shell/pages.ts';
import { readDraft } from './drafts.ts';
import type { AdvertiserContext, PageServices } from './services.ts';

/** Renders the field for a message to the approvers. */
export const noteField = (form: FormBuilder): Html =>
  form.textarea('note', { label: t('drafts.note'), rows: 2, hint: t('advertiser.noteHint') });

const revisesField = 'revises';

/** Renders why the revised draft was refused, or nothing for a new draft. */
export const revisedNotice = (revised: DraftDetails | null): Html =>
  revised === null || revised.draft.reason === ''
    ? nothing
    : notice(
        'failed',
        html`<p><strong>${t('drafts.refusedBecause')}</strong></p><p class="lines">${revised.draft.reason}</p>`,
      );

export const revisedField = (revised: DraftDetails | null): Html =>
  revised === null ? nothing : hiddenField(revisesField, revised.draft.id);

/** Renders the image of the revised draft, which is kept unless the user selects another file. */
export const keptImage = (context: AdvertiserContext, revised: DraftDetails | null): Html =>
  revised?.draft.has_picture === true
    ? html`
      <figure class="kept-image">
        <img src="${context.path(`/drafts/${revised.draft.id}/picture`)}" alt="${t('offers.images')}">
        <figcaption class="hint">${t('advertiser.imageKept')}</figcaption>
      </figure>`
    : nothing;

export const proposeButton = (revised: DraftDetails | null): string =>
  t(revised === null ? 'advertiser.propose' : 'advertiser.proposeAgain');

/** Title and breadcrumbs of the page that edits a draft. Empty for a new draft. */
export const revisionHead = ({ path }: AdvertiserContext, revised: DraftDetails | null): Partial<Page> =>
  revised === null
    ? {}
    : {
        title: t('advertiser.editProposal'),
        nav: 'advertiser-drafts',
        trail: [
          { text: t('nav.drafts'), href: path('/drafts') },
          { text: revised.draft.subject || `#${revised.draft.id}`, href: path(`/drafts/${revised.draft.id}`) },
        ],
      };

/** Link that leaves the form of a revised draft without a change. Empty for a new draft. */
export const revisionCancel = ({ path }: AdvertiserContext, revised: DraftDetails | null): { cancel?: string } =>
  revised === null ? {} : { cancel: path(`/drafts/${revised.draft.id}`) };

/** Reads the draft that a submitted form revises. Returns null if it revises none. */
export async function revisedIn(
  services: PageServices,
  context: AdvertiserContext,
  fields: Fields,
): Promise<DraftDetails | null> {
  const id = fields.text(revisesField);
  return id === '' ? null : readDraft(services, context, id);
}

type OwnProposal = Omit<Proposal, 'image' | 'revises'> & { image: HandedIn | null };

/** Creates a draft, and redirects to its page. */
export async function proposeDraft(
  { management, drafts }: PageServices,
  context: AdvertiserContext,
  { image, ...proposal }: OwnProposal,
  revised: DraftDetails | null,
): Promise<PageResult> {
  const { advertiser } = context;
  const parts = { ...(image !== null && { image }), ...(revised !== null && { revises: revised.draft.id }) };
  const draft = await management.write(context, (work) =>
    drafts.propose(work, { ...proposal, ...parts }, advertiser.id),
  );
  return {
    to: context.path(`/drafts/${draft.id}`),
    done: t(draft.state === 'live' ? 'advertiser.liveAtOnce' : 'advertiser.proposed'),
  };
}

/**
 * Returns the errors of a rejected proposal by form field.
 * @throws any other error unchanged
 */
export const proposalErrors = (err: unknown): FieldErrors =>
  fieldErrorsOf(err).map(({ path, message }) => ({
    path: path.replace(/^\/(changes|rules\/schedule|schedule)(?=\/)/, ''),
    message,
  }));

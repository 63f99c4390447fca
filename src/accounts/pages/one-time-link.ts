import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Executor, transaction } from '../../platform/db/pool.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { type Html, html } from '../../platform/http/html.ts';
import { t, tHtml } from '../../platform/i18n/messages.ts';
import { Problem } from '../../platform/problem.ts';
import { isToken } from '../../platform/security/random-token.ts';
import { type FieldErrors, fieldsIn, formOf, type User } from '../../shell/context.ts';
import { createForm } from '../../shell/forms.ts';
import { renderCard } from '../../shell/layout.ts';
import { pageHeaders, redirect } from '../../shell/pages.ts';
import { hashPassword, minPasswordLength, passwordProblem } from '../passwords.ts';
import { endSessionsOf } from '../sessions.ts';
import { accountView, auditAccount, passwordState } from '../sign-in/account-audit.ts';
import { consumeLink, type Link as FoundLink, findLink, linkPath } from '../sign-in/one-time-links.ts';
import { createUser, hasOperator, parseEmail, setPassword } from '../users.ts';
import { codePath, startBrowserSession } from './browser-session.ts';
import {
  acceptInvitation,
  answerInvitation,
  declineForm,
  invitationPage,
  invitedBy,
  isAnswer,
  isForSignedIn,
} from './invitation.ts';
import type { PageServices } from './services.ts';

type LinkRoute = { Params: { token: string } };
type Link = FoundLink & { token: string };

const schema = { hide: true };

/**
 * Registers the page for one-time links, on which users set a password and are signed in. Users who can already sign in
 * accept an invitation instead. Opening the page does not use up the link.
 */
export function oneTimeLinkPages(app: App, services: PageServices): void {
  const { deps, asset } = services;
  const headers = pageHeaders(deps.config.publicUrl);
  const page = async (link: Link, email = '', errors: FieldErrors = []): Promise<string> =>
    renderCard(
      t(link.user === null ? 'account.setUpPerkwire' : 'account.setPassword'),
      asset,
      await passwordForm(services, link, email, errors),
    );

  app.get<LinkRoute>(`${linkPath}:token`, { schema }, async (request, reply) => {
    const link = await linkOf(services, request.params.token, request.ip);
    reply.headers(headers);
    return reply.send(await (isForSignedIn(link) ? invitationPage(services, link, request.viewer) : page(link)));
  });

  app.post<LinkRoute>(`${linkPath}:token`, { schema }, async (request, reply) => {
    const link = await linkOf(services, request.params.token, request.ip);
    reply.headers(headers);
    if (isAnswer(link, request)) return answerInvitation(services, link, request, reply);
    if (isForSignedIn(link)) return reply.code(422).send(await invitationPage(services, link, request.viewer));
    const result = await submit(services, link, request, reply);
    if ('to' in result) return redirect(request, reply, result.to);
    return reply.code(422).send(await page(link, fieldsIn(request).text('email'), result.errors));
  });
}

/**
 * Finds a link by its token.
 * @throws AppError `invalid_token`, which counts as a failed attempt from the client's address
 */
async function linkOf({ deps }: PageServices, token: string, address: string): Promise<Link> {
  const link = isToken(token) ? await findLink(deps.pool, token, deps.now()) : null;
  if (link !== null) return { token, ...link };
  const message = new Problem('account.linkExpired');
  throw deps.failures.charge(address) ?? new AppError('invalid_token', { message });
}

/** Sets the password and signs the user in. Users with two-factor authentication are asked for their code first. */
async function submit(
  services: PageServices,
  link: Link,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<{ to: string } | { errors: FieldErrors }> {
  const { cookies, deps } = services;
  const form = formOf(request);
  const password = form.get('password') ?? '';
  const email = link.user?.email ?? parseEmail(fieldsIn(request).text('email'));
  const weakness = passwordProblem(password, email ?? '');
  const errors = [
    ...(email === null ? [{ path: '/email', message: t('common.invalidEmail') }] : []),
    ...(weakness === null ? [] : [{ path: '/password', message: weakness }]),
    ...(password === form.get('again') ? [] : [{ path: '/again', message: t('account.passwordsDiffer') }]),
  ];
  if (email === null || errors.length > 0) return { errors };
  const passwordHash = await hashPassword(password);
  const awaitsCode = link.user?.hasTwoFactor === true;
  const session = await transaction(deps.pool, async (executor) => {
    const user = await useLink(services, executor, link, { email, passwordHash });
    return user && startBrowserSession(services, executor, request, { userId: user.id, awaitsCode });
  });
  if (session === null) return { errors: [{ path: '/email', message: t('account.addressTaken') }] };
  cookies.setSession(reply, session);
  if (awaitsCode) return { to: codePath };
  cookies.setFlash(reply, { kind: 'done', text: t('account.welcome') });
  return { to: '/dashboard' };
}

/**
 * Consumes the link, sets the password, accepts the invitation and ends the user's sessions. Returns null if the first
 * operator's e-mail address is already taken. In that case, the link stays valid.
 */
async function useLink(
  services: PageServices,
  executor: Executor,
  link: Link,
  { email, passwordHash }: { email: string; passwordHash: string },
): Promise<User | null> {
  const { management, deps } = services;
  const nowMs = deps.now();
  if (link.user === null && (await hasOperator(executor)))
    throw new AppError('invalid_token', { message: new Problem('account.linkUsed') });
  const created = { email, role: 'operator', publisherId: null, passwordHash, nowMs } as const;
  const user = link.user ?? (await createUser(executor, created));
  if (user === null) return null;
  if (!(await consumeLink(executor, link.token, nowMs)))
    throw new AppError('invalid_token', { message: new Problem('account.linkUsed') });
  if (link.invites) await acceptInvitation(services, executor, user);
  await setPassword(executor, user.id, passwordHash);
  const change = { actor: management.actorFor(user), user, nowMs };
  if (link.user === null) await auditAccount(executor, { ...change, action: 'create' }, null, accountView(user));
  else {
    const password = user.hasPassword ? 'changed by one-time link' : 'set';
    await auditAccount(executor, { ...change, action: 'update' }, { password: passwordState(user) }, { password });
  }
  await endSessionsOf(executor, user.id);
  return user;
}

async function passwordForm(services: PageServices, link: Link, email: string, errors: FieldErrors): Promise<Html> {
  const { token, user } = link;
  const form = createForm({ email }, errors);
  const lead = user === null ? t('account.firstOperatorLead') : tHtml('account.setPasswordLead', { email: user.email });
  return html`
    ${link.invites && (await invitedBy(services, link))}
    <p class="lead">${lead}</p>
    <form method="post" action="${linkPath}${token}" class="form">
      ${
        user === null
          ? form.input('email', {
              label: t('common.email'),
              type: 'email',
              autocomplete: 'username',
              required: true,
              autofocus: true,
            })
          : html`<input type="email" name="username" value="${user.email}" autocomplete="username" hidden>`
      }
      ${newPasswordFields(form)}
      <div class="form-end">
        <button class="button main wide">
          ${t(user === null ? 'account.createAccount' : 'account.saveAndSignIn')}
        </button>
      </div>
    </form>
    ${link.invites && declineForm(token)}`;
}

/** Renders the two fields for entering a new password and repeating it. */
export const newPasswordFields = (form: ReturnType<typeof createForm>): Html => html`
  ${form.input('password', {
    label: t('account.newPassword'),
    type: 'password',
    autocomplete: 'new-password',
    required: true,
    hint: t('account.newPasswordHint', { length: minPasswordLength }),
  })}
  ${form.input('again', {
    label: t('account.repeatPassword'),
    type: 'password',
    autocomplete: 'new-password',
    required: true,
  })}`;

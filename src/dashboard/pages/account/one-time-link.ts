import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Executor, transaction } from '../../../platform/db/pool.ts';
import { AppError } from '../../../platform/errors.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import type { App } from '../../../platform/ports.ts';
import { accountView, auditAccount, passwordState } from '../../auth/account-audit.ts';
import { consumeLink, findLink, linkPath } from '../../auth/one-time-links.ts';
import { hashPassword, minPasswordLength, passwordProblem } from '../../auth/passwords.ts';
import { endSessionsOf } from '../../auth/sessions.ts';
import { isToken } from '../../auth/tokens.ts';
import { createUser, isTaken, parseEmail, setPassword, type User } from '../../auth/users.ts';
import { formOf } from '../../shell/context.ts';
import { type FieldErrors, fieldsOf } from '../../shell/fields.ts';
import { createForm } from '../../shell/forms.ts';
import { pageHeaders } from '../../shell/headers.ts';
import { renderCard } from '../../shell/layout.ts';
import { actorFor } from '../../shell/management.ts';
import { type PageServices, redirect } from '../../shell/pages.ts';
import { codePath, startBrowserSession } from './browser-session.ts';

type LinkRoute = { Params: { token: string } };
/** `user` null: the link creates the first operator. */
type Link = { token: string; user: User | null };

const schema = { hide: true };

/** The page of a one-time link: sets a password and signs in. Opening it does not use up the link. */
export function oneTimeLinkPages(app: App, services: PageServices): void {
  const { deps, asset } = services;
  const headers = pageHeaders(deps.config.publicUrl);
  const page = (link: Link, email = '', errors: FieldErrors = []): string =>
    renderCard(link.user === null ? 'Set up Perkwire' : 'Set a password', asset, passwordForm(link, email, errors));

  app.get<LinkRoute>(`${linkPath}:token`, { schema }, async (request, reply) => {
    const link = await linkOf(services, request.params.token, request.ip);
    return reply.headers(headers).send(page(link));
  });

  app.post<LinkRoute>(`${linkPath}:token`, { schema }, async (request, reply) => {
    const link = await linkOf(services, request.params.token, request.ip);
    const result = await submit(services, link, request, reply);
    reply.headers(headers);
    if ('to' in result) return redirect(request, reply, result.to);
    return reply.code(422).send(page(link, fieldsOf(formOf(request)).text('email'), result.errors));
  });
}

/** @throws AppError `invalid_token`, counted against the address */
async function linkOf({ deps }: PageServices, token: string, address: string): Promise<Link> {
  const link = isToken(token) ? await findLink(deps.pool, token, deps.now()) : null;
  if (link !== null) return { token, user: link.user };
  const message = 'This link has expired or was already used. Ask for a new one.';
  throw deps.failures.charge(address) ?? new AppError('invalid_token', { message });
}

const taken =
  'This address has an account already, and can have only one. Sign in with it, or ask for an invitation to another ' +
  'address.';

/** Sets the password and signs in; users with two-factor authentication are asked for the code. */
async function submit(
  services: PageServices,
  link: Link,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<{ to: string } | { errors: FieldErrors }> {
  const { pool, now } = services.deps;
  const { cookies } = services;
  const form = formOf(request);
  const password = form.get('password') ?? '';
  const email = link.user?.email ?? parseEmail(fieldsOf(form).text('email'));
  const weakness = passwordProblem(password, email ?? '');
  const errors = [
    ...(email === null ? [{ path: '/email', message: 'Enter a valid e-mail address.' }] : []),
    ...(weakness === null ? [] : [{ path: '/password', message: weakness }]),
    ...(password === form.get('again') ? [] : [{ path: '/again', message: 'Passwords do not match.' }]),
  ];
  if (email === null || errors.length > 0) return { errors };
  const passwordHash = await hashPassword(password);
  const awaitsCode = link.user?.hasTwoFactor === true;
  const session = await transaction(pool, async (executor) => {
    const user = await useLink(executor, link, { email, passwordHash }, now());
    return user && startBrowserSession(services, executor, request, { userId: user.id, awaitsCode });
  });
  if (session === null) return { errors: [{ path: link.user === null ? '/email' : '/password', message: taken }] };
  cookies.setSession(reply, session);
  if (awaitsCode) return { to: codePath };
  cookies.setFlash(reply, { kind: 'done', text: 'Welcome. You are signed in.' });
  return { to: '/dashboard' };
}

/** Consumes the link, sets the password and ends the user's sessions. null: the address is taken; the link stays. */
async function useLink(
  executor: Executor,
  link: Link,
  { email, passwordHash }: { email: string; passwordHash: string },
  nowMs: number,
): Promise<User | null> {
  const created = { email, role: 'operator', publisherId: null, passwordHash, nowMs } as const;
  const user = link.user ?? (await createUser(executor, created));
  if (user === null || (await isTaken(executor, user))) return null;
  if (!(await consumeLink(executor, link.token, nowMs)))
    throw new AppError('invalid_token', { message: 'This link was already used.' });
  await setPassword(executor, user.id, passwordHash);
  const change = { actor: actorFor(user), user, nowMs };
  if (link.user === null) await auditAccount(executor, { ...change, action: 'create' }, null, accountView(user));
  else {
    const password = user.hasPassword ? 'changed by one-time link' : 'set';
    await auditAccount(executor, { ...change, action: 'update' }, { password: passwordState(user) }, { password });
  }
  await endSessionsOf(executor, user.id);
  return user;
}

function passwordForm({ token, user }: Link, email: string, errors: FieldErrors): Html {
  const form = createForm({ email }, errors);
  const lead =
    user === null
      ? 'Create the first operator account. Operators create publishers and invite users.'
      : html`For <strong>${user.email}</strong>. You will be signed in.`;
  return html`
    <p class="lead">${lead}</p>
    <form method="post" action="${linkPath}${token}" class="form">
      ${
        user === null
          ? form.input('email', {
              label: 'E-mail address',
              type: 'email',
              autocomplete: 'username',
              required: true,
              autofocus: true,
            })
          : html`<input type="email" name="username" value="${user.email}" autocomplete="username" hidden>`
      }
      ${newPasswordFields(form)}
      <div class="form-end">
        <button class="button main wide">${user === null ? 'Create account' : 'Save and sign in'}</button>
      </div>
    </form>`;
}

/** A new password, typed twice. */
export const newPasswordFields = (form: ReturnType<typeof createForm>): Html => html`
  ${form.input('password', {
    label: 'New password',
    type: 'password',
    autocomplete: 'new-password',
    required: true,
    hint: `At least ${minPasswordLength} characters. A few unrelated words work well.`,
  })}
  ${form.input('again', {
    label: 'Repeat new password',
    type: 'password',
    autocomplete: 'new-password',
    required: true,
  })}`;

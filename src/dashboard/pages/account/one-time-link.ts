import { transaction } from '../../../platform/db/pool.ts';
import { AppError } from '../../../platform/errors.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import type { App } from '../../../platform/ports.ts';
import { accountView, auditAccount, passwordOf } from '../../auth/account-log.ts';
import { findLink, linkPath, useLink } from '../../auth/links.ts';
import { hashPassword, minPasswordLength, passwordProblem } from '../../auth/passwords.ts';
import { endSessionsOf, startSession } from '../../auth/sessions.ts';
import { createUser, readEmail, setPassword, type User } from '../../auth/users.ts';
import { createForm, fieldsOf, type Problems } from '../../shell/forms.ts';
import { pageHeaders } from '../../shell/headers.ts';
import { renderCard } from '../../shell/layout.ts';
import { actorFor } from '../../shell/management.ts';
import type { Tools } from '../../shell/pages.ts';

const schema = { hide: true };

/** Where a one-time link leads: its holder chooses a password and is signed in. Looking at it does not use it up. */
export function startPages(app: App, { deps, asset, cookies }: Tools): void {
  const { pool, config, now, failures } = deps;
  const headers = pageHeaders(config.publicUrl);

  /** @throws AppError `invalid_token`, counted against the address */
  async function linkOf(token: string, address: string): Promise<{ user: User | null }> {
    const link = /^[\w-]{43}$/.test(token) ? await findLink(pool, token, now()) : null;
    if (link === null)
      throw (
        failures.charge(address) ??
        new AppError('invalid_token', { message: 'This link was used already, or has expired. Ask for a new one.' })
      );
    return link;
  }

  app.get<{ Params: { token: string } }>(`${linkPath}:token`, { schema }, async (request, reply) => {
    const { token } = request.params;
    const { user } = await linkOf(token, request.ip);
    return reply.headers(headers).send(renderCard(titleOf(user), asset, form(token, user, '', [])));
  });

  app.post<{ Params: { token: string } }>(`${linkPath}:token`, { schema }, async (request, reply) => {
    const { token } = request.params;
    const { user } = await linkOf(token, request.ip);
    const params = request.body instanceof URLSearchParams ? request.body : new URLSearchParams();
    const typed = fieldsOf(params).text('email');
    const password = params.get('password') ?? '';
    const email = user?.email ?? readEmail(typed);
    const problems = [
      ...(email === null ? [{ path: '/email', message: 'This is no e-mail address.' }] : []),
      ...listOf(passwordProblem(password, email ?? ''), '/password'),
      ...(password === (params.get('again') ?? '') ? [] : [{ path: '/again', message: 'The two are not the same.' }]),
    ];
    reply.headers(headers);
    const refuse = (found: Problems) =>
      reply.code(422).send(renderCard(titleOf(user), asset, form(token, user, typed, found)));
    if (email === null || problems.length > 0) return refuse(problems);
    const passwordHash = await hashPassword(password);
    const session = await transaction(pool, async (executor) => {
      const who =
        user ??
        (await createUser(executor, { email, role: 'operator', publisherId: null, passwordHash, nowMs: now() }));
      if (who === null) return null; // the link stays good
      if (!(await useLink(executor, token, now())))
        throw new AppError('invalid_token', { message: 'This link was used already.' });
      await setPassword(executor, who.id, passwordHash);
      const happening = { actor: actorFor(who), user: who, nowMs: now() };
      if (user === null) await auditAccount(executor, { ...happening, action: 'create' }, null, accountView(who));
      else {
        const password = user.hasPassword ? 'changed by a link' : 'set';
        await auditAccount(executor, { ...happening, action: 'update' }, { password: passwordOf(user) }, { password });
      }
      await endSessionsOf(executor, who.id);
      return startSession(executor, who.id, cookies.session(request), now());
    });
    if (session === null) return refuse([{ path: '/email', message: 'This address has an account already.' }]);
    cookies.setSession(reply, session);
    cookies.setFlash(reply, { kind: 'done', text: 'Welcome. You are signed in.' });
    return reply.code(303).header('location', '/dashboard').send();
  });
}

const titleOf = (user: User | null): string => (user === null ? 'Set up Perkwire' : 'Choose a password');

const listOf = (message: string | null, path: string): Problems => (message === null ? [] : [{ path, message }]);

function form(token: string, user: User | null, email: string, problems: Problems): Html {
  const f = createForm({ email: user?.email ?? email }, problems);
  return html`<p class="lead">${user === null ? 'You become the first operator: you create publishers, and invite everybody else.' : html`For <strong>${user.email}</strong>. Afterwards you are signed in.`}</p>
<form method="post" action="${linkPath}${token}" class="form">
${user === null ? f.input('email', { label: 'Your e-mail address', type: 'email', autocomplete: 'username', required: true, autofocus: true }) : html`<input type="email" name="username" value="${user.email}" autocomplete="username" hidden>`}
${f.input('password', { label: 'Password', type: 'password', autocomplete: 'new-password', required: true, hint: `At least ${minPasswordLength} characters. A few unrelated words are good.` })}
${f.input('again', { label: 'The same once more', type: 'password', autocomplete: 'new-password', required: true })}
<div class="form-end"><button class="button main wide">${user === null ? 'Create the account' : 'Save and sign in'}</button></div></form>`;
}

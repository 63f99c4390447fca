import { createApi, printResponse } from '../../command-line/api.ts';
import { exitCodes, type Run, textOption, usageError } from '../../command-line/command.ts';

const linksPath = '/manage/v1/portal-links';

type ListedLink = {
  id: string;
  state: string;
  user: string;
  permissions: string[];
  frame_origin: string;
  expires_at: string;
};

export const listLinks: Run = async (call) => {
  if (call.args.length > 0) throw usageError('This command takes no arguments.');
  const links = await createApi(call).all<ListedLink>(linksPath);
  call.out.data(links);
  for (const { id, state, user, permissions, frame_origin: origin, expires_at: expires } of links)
    call.out.line(`${id}  ${state}  ${user || '-'}  ${permissions.join(',')}  ${origin}  expires ${expires}`);
  if (links.length === 0) call.out.note('No portal links in the last 30 days.');
  return exitCodes.ok;
};

export const createLink: Run = async (call) => {
  const [origin, ...permissions] = call.args;
  if (origin === undefined || permissions.length === 0)
    throw usageError('Expected the origin of a website and at least one permission.');
  const [user, minutes] = [textOption(call, 'user'), textOption(call, 'minutes') || '60'];
  if (!/^[1-9]\d?$/.test(minutes)) throw usageError('--minutes must be a number from 1 to 60.');
  const body = { frame_origin: origin, permissions, user, expires_in: Number(minutes) * 60 };
  const { data } = (await createApi(call).call('POST', linksPath, { body })) as { data: { url: string } };
  call.out.data(data);
  call.out.line(data.url);
  return exitCodes.ok;
};

export const revokeLink: Run = async (call) => {
  const [id = '', ...rest] = call.args;
  if (!/^[0-9a-f-]{36}$/.test(id) || rest.length > 0) throw usageError('Expected the ID of a portal link.');
  return printResponse(call, await createApi(call).call('DELETE', `${linksPath}/${id}`));
};

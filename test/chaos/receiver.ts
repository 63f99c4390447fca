import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A webhook as it was received. */
type Receipt = { id: string; sessionId: string; endpoint: number; accepted: boolean; atMs: number };

export type ChaosReceiver = { urlOf: (endpoint: number) => string; receipts: Receipt[]; close: () => void };

/** Answers of one endpoint that are refused, so that retries take part. */
const refusedShare = 0.02;
const longestAnswerMs = 20;

/** A publishers' server: takes its time, refuses now and then, and keeps a log of all it got. */
export async function startChaosReceiver(draw: () => number): Promise<ChaosReceiver> {
  const receipts: Receipt[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('error', () => {});
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { body } = JSON.parse(Buffer.concat(chunks).toString()) as { body: { session_id: string } };
      const accepted = draw() >= refusedShare;
      const receipt = {
        id: String(request.headers['webhook-id']),
        sessionId: body.session_id,
        endpoint: Number(request.url?.split('/').at(-1)),
        accepted,
        atMs: performance.now(),
      };
      receipts.push(receipt);
      setTimeout(() => response.writeHead(accepted ? 200 : 503).end(), draw() * longestAnswerMs);
    });
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    urlOf: (endpoint) => `http://127.0.0.1:${port}/hook/${endpoint}`,
    receipts,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

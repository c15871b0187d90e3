import type { FastifyRequest } from 'fastify';
import type { SignatureScheme } from '../../../../schemas/events/account/app-events.ts';
import type { SignatureEvent } from '../../../../schemas/events/request-events.ts';
import { v1Text, v2Text, type WholeRequest } from '../../../../schemas/http/app-signature.ts';
import { invalid, outOfWindow, Refusal } from '../../../../shared/errors/refusal.ts';
import { keptForRepeats } from '../../../../shared/event-store/permanent-streams.ts';
import type { Transactor } from '../../../../shared/event-store/transactions/transact.ts';
import type { AppCallers } from '../../../../shared/edge/app-callers.ts';
import type { Settings } from '../../../../shared/config/settings.ts';
import { originNotAllowed } from '../../../../shared/auth/app-origins.ts';
import type { AppCaller } from '../../../../shared/auth/caller.ts';
import { requestMetadata } from '../../../../shared/edge/requests/request-context.ts';
import { sha256 } from '../../../../shared/primitives/ids.ts';
import type { Apps } from '../../../../shared/auth/apps.ts';
import { readSignature } from '../../../../shared/keys/signatures/read-signature.ts';
import { recoverSigner } from '../../../../shared/keys/signatures/recover-signer.ts';

const WINDOW_MS = 300_000;
const usedFold = { initial: false, evolve: () => true };
const names = ['x-api-key', 'origin', 'x-timestamp', 'x-signature'] as const;

/** Checks the headers of an app in the order that section 1 of the interface gives: the first fault decides the code. */
export class SignedAppCallers implements AppCallers {
  constructor(
    private readonly transactor: Transactor,
    private readonly apps: Apps,
    private readonly settings: Pick<Settings, 'NODE_ENV'>,
  ) {}

  async authenticate(request: FastifyRequest, by: 'signing key' | 'server key'): Promise<Omit<AppCaller, 'user'>> {
    const { apiKey, origin, timestamp, signature } = readHeaders(request);
    const app = await (by === 'server key' ? this.apps.liveNow(apiKey) : this.apps.live(apiKey));
    if (!app.origins.includes(origin)) throw originNotAllowed(origin, app.id);
    this.checkTimestamp(timestamp);
    const bodyHash = sha256(request.rawBody ?? '');
    const parts = { method: request.method, url: request.url, origin, timestamp, apiKey, bodyHash };
    const schemes: SignatureScheme[] = by === 'signing key' && app.scheme === 'v1' ? ['v1', 'v2'] : ['v2'];
    const signers = by === 'server key' ? app.serverSigners : app.signers;
    const signed = signedBy(signers, schemes, parts, readSignature(signature));
    if (!signed) throw this.notSigned(by, schemes, parts);
    const caller = { kind: 'app', appId: app.id, origin, signer: signed.signer } as const;
    if (signed.scheme === 'v2') await this.useOnce(signature, caller, request);
    return caller;
  }

  /** Outside production, the refusal shows the text that the app must sign, which contains no secret. */
  private notSigned(by: string, schemes: readonly SignatureScheme[], parts: WholeRequest): Refusal {
    const expected = schemes.map((scheme) => `${scheme} ${JSON.stringify(texts[scheme](parts))}`).join(', or ');
    const shown = this.settings.NODE_ENV === 'production' ? '' : `; the text to sign (EIP-191) is ${expected}`;
    const detail = `the signature is not by a ${by} of the app over this request${shown}`;
    return new Refusal('app_signature_invalid', detail);
  }

  private checkTimestamp(timestamp: string): void {
    const isNumber = /^\d{1,16}$/.test(timestamp);
    const now = this.transactor.clock.now();
    if (!isNumber || Math.abs(Number(timestamp) - now) > WINDOW_MS) {
      throw outOfWindow('x-timestamp is Unix milliseconds, within 5 minutes of now', now);
    }
  }

  /**
   * The process that appends first has used the signature. The stream's name leaves out the last byte, because
   * `recoverSigner` accepts the same signature with two forms of that byte.
   */
  private async useOnce(signature: string, caller: Omit<AppCaller, 'user'>, request: FastifyRequest): Promise<void> {
    const { appId } = caller;
    const { appended } = await this.transactor.transact<boolean, SignatureEvent>({
      stream: `signature-${sha256(signature.toLowerCase().slice(0, -2))}`,
      fold: usedFold,
      keep: keptForRepeats,
      metadata: { ...requestMetadata(request), actor: { type: 'app', id: appId }, app: appId },
      decide: (isUsed) => (isUsed ? [] : [{ type: 'SignatureUsed', data: { appId } }]),
    });
    if (!appended) throw new Refusal('request_replayed', 'the signature was used before: sign each request by itself');
  }
}

const texts = { v1: v1Text, v2: v2Text };

/** Returns the key that signed and the scheme, if any of them matches. */
const signedBy = (
  signers: readonly string[],
  schemes: readonly SignatureScheme[],
  parts: WholeRequest,
  signature: string,
): { signer: string; scheme: SignatureScheme } | undefined => {
  for (const scheme of schemes) {
    const signer = recoverSigner(texts[scheme](parts), signature);
    if (signer !== undefined && signers.includes(signer)) return { signer, scheme };
  }
  return undefined;
};

const readHeaders = ({ headers }: FastifyRequest) => {
  const given = names.map((name) => headers[name]);
  const missing = names.filter((_, at) => typeof given[at] !== 'string' || given[at] === '');
  if (missing.length > 0) throw invalid(...missing.map((path) => ({ path, message: 'is missing' })));
  const [apiKey = '', origin = '', timestamp = '', signature = ''] = given.map(String);
  return { apiKey, origin, timestamp, signature };
};

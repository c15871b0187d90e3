import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Settings } from '../../../shared/config/settings.ts';
import { trustedProxies } from '../../../shared/edge/server/trusted-proxies.ts';

/** Reads a client's address and protocol from the headers of trusted proxies. Headers of other senders are ignored. */
export class TrustedProxies {
  private readonly isProxy: (address: string) => boolean;

  constructor(settings: Pick<Settings, 'TRUSTED_PROXIES'>) {
    this.isProxy = trustedProxies(settings);
  }

  /** Whether the handshake came over TLS, either to this process or, by its header, to a trusted proxy. */
  isOverTls({ socket, headers }: IncomingMessage): boolean {
    if (socket instanceof TLSSocket) return true;
    return this.isTrusted(socket.remoteAddress) && valuesOf(headers['x-forwarded-proto']).at(-1) === 'https';
  }

  /** The client's address: the nearest address that is not a trusted proxy's. */
  addressOf({ socket, headers }: IncomingMessage): string {
    let nearest = socket.remoteAddress ?? '';
    for (const before of valuesOf(headers['x-forwarded-for']).reverse()) {
      if (!this.isTrusted(nearest) || isIP(before) === 0) break;
      nearest = before;
    }
    return nearest;
  }

  private isTrusted(address: string | undefined): boolean {
    return address !== undefined && isIP(address) !== 0 && this.isProxy(address);
  }
}

const valuesOf = (header: string | string[] | undefined): string[] =>
  String(header ?? '')
    .split(',')
    .map((value) => value.trim());

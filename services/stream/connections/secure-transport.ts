import type { IncomingMessage } from 'node:http';
import { BlockList, isIPv6 } from 'node:net';
import { TLSSocket } from 'node:tls';

const family = (address: string): 'ipv4' | 'ipv6' => (isIPv6(address) ? 'ipv6' : 'ipv4');

/** Tells whether a handshake came over TLS, either to this process or, by its header, to a trusted proxy. */
export class SecureTransport {
  private readonly proxies = new BlockList();

  /** @param trustedProxies addresses or CIDR ranges */
  constructor(trustedProxies: readonly string[]) {
    for (const proxy of trustedProxies) {
      const [address = '', prefix] = proxy.split('/');
      if (prefix === undefined) this.proxies.addAddress(address, family(address));
      else this.proxies.addSubnet(address, Number(prefix), family(address));
    }
  }

  isUsedBy({ socket, headers }: IncomingMessage): boolean {
    if (socket instanceof TLSSocket) return true;
    const { remoteAddress: peer } = socket;
    if (peer === undefined || !this.proxies.check(peer, family(peer))) return false;
    return (
      String(headers['x-forwarded-proto'] ?? '')
        .split(',')
        .at(-1)
        ?.trim() === 'https'
    );
  }
}

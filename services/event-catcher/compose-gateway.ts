import type { Provider } from '@nestjs/common';
import {
  catcherAnnouncement,
  CATCHERS_KIND,
  nodeAnnouncement,
  NODES_KIND,
  type CatcherAnnouncement,
} from '../../schemas/announcements.ts';
import { AppEnds } from '../../shared/auth/app-ends.ts';
import { ConnectionTokens } from '../../shared/auth/connection-tokens.ts';
import { announcing } from '../../shared/coordination/announcing.ts';
import { Members } from '../../shared/coordination/members.ts';
import { Projections } from '../../shared/edge/answers/projections.ts';
import type { Foundation } from '../../shared/host/foundation.ts';
import { CATCHERS, NODES } from './edge/ports.ts';
import { StreamSigners } from './gateway/stream-signers.ts';

type Catchers = Members<typeof catcherAnnouncement>;

/** What knows the other event catchers. `composeGateway` starts it. */
export const composeCatchers = (foundation: Foundation): Catchers =>
  new Members({ ...foundation, kind: CATCHERS_KIND, schema: catcherAnnouncement });

interface GatewayOptions {
  catchers: Catchers;
  /** Returns what this event catcher announces to the others, besides its address. */
  describe: () => Omit<CatcherAnnouncement, 'domain'>;
  /** Returns the address where clients reach this event catcher, which is known once it listens. */
  publicUrl: () => string | undefined;
}

/** Creates what the gateway knows of the nodes and of the other event catchers. The caller starts the loops. */
export const composeGateway = (foundation: Foundation, { catchers, describe, publicUrl }: GatewayOptions) => {
  const nodes = new Members({ ...foundation, kind: NODES_KIND, schema: nodeAnnouncement });
  const announcement = announcing({
    ...foundation,
    kind: CATCHERS_KIND,
    describe: () => {
      const domain = publicUrl();
      return { ...describe(), ...(domain !== undefined && { domain }) };
    },
  });
  const apps = new AppEnds(foundation);
  const tokens = new ConnectionTokens({ ...foundation, apps });
  const projections = new Projections(foundation.readStore, foundation.eventStore);
  const providers: Provider[] = [
    { provide: NODES, useValue: nodes },
    { provide: CATCHERS, useValue: catchers },
    { provide: ConnectionTokens, useValue: tokens },
    { provide: StreamSigners, useValue: new StreamSigners({ ...foundation, projections, apps }) },
  ];
  return {
    providers,
    loops: [announcement, nodes.loop, catchers.loop],
    connectionCallers: {
      verify: (token: string) => tokens.verify(token, ({ domain }) => domain === publicUrl()),
    },
  };
};

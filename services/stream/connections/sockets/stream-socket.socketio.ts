import type { DefaultEventsMap, Namespace, Socket } from 'socket.io';
import type { TokenCaller } from '../../../../shared/auth/caller.ts';

interface SocketData {
  /** Set before the socket is connected. */
  caller: TokenCaller;
}

/** The event maps stay open: incoming payloads are parsed, and outgoing messages are typed by `Connection.emit`. */
export type StreamSocket = Socket<DefaultEventsMap, DefaultEventsMap, DefaultEventsMap, SocketData>;
export type StreamNamespace = Namespace<DefaultEventsMap, DefaultEventsMap, DefaultEventsMap, SocketData>;

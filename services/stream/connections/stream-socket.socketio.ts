import type { DefaultEventsMap, Namespace, Socket } from 'socket.io';
import type { UserCaller } from '../../../shared/auth/caller.ts';

interface SocketData {
  /** Set before it is connected. */
  caller: UserCaller;
}

/** What comes is parsed, what goes is typed by `Connection.tell`. */
export type StreamSocket = Socket<DefaultEventsMap, DefaultEventsMap, DefaultEventsMap, SocketData>;
export type StreamNamespace = Namespace<DefaultEventsMap, DefaultEventsMap, DefaultEventsMap, SocketData>;

import { messageBusContract } from './message-bus.contract.ts';
import { MemoryMessageBus } from '../testing/engines/message-bus.memory.ts';

messageBusContract('memory', (topicSettings) => Promise.resolve(new MemoryMessageBus(topicSettings)));

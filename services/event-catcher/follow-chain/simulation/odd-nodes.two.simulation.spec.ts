import { simulateOddNodes } from '../../testing/simulation/odd-node-seeds.ts';

simulateOddNodes('odd-nodes.two', 2);

import torch
from collections import deque

class Agent:
    def __init__(self):
        self.memory = deque(maxlen=50)

    def learn(self, w):
        newest = self.memory[len(self.memory) - 1]
        return (newest * w).sum()

agent = Agent()
learn = torch.compile(agent.learn, backend="eager")

for i in range(6):
    agent.memory.append(torch.full((3,), float(i)))
    print(learn(torch.ones(3)))

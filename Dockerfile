# A running node from a clone: docker build -t ssik_ros . && docker run --rm --network host ssik_ros
# Another robot or command: docker run --rm --network host ssik_ros ssik robots
FROM debian:12 AS tools
RUN apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
      build-essential ca-certificates cmake git make python3 python3-dev python3-venv \
    && rm -rf /var/lib/apt/lists/*

FROM tools
WORKDIR /ssik_ros
COPY . .
RUN make setup
ENTRYPOINT ["/bin/bash", "-c", ". ./activate && exec \"$@\"", "ssik_ros"]
CMD ["ik_server", "--ros-args", "-p", "moveit_config_package:=panda"]

# The course, and the autograder, each in an image:
#   docker build --target student -t ffn-course . && docker run --rm -p 127.0.0.1:8888:8888 -v ffn-work:/home/learner ffn-course
#   docker build --target instructor -t ffn-autograder .     docs/containers.md says how it grades
FROM debian:bookworm-slim AS python
ENV LANG=C.UTF-8 PATH=/opt/course/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates git python3 python3-venv && rm -rf /var/lib/apt/lists/*

FROM python AS student
COPY course /opt/ffn-course
RUN python3 /opt/ffn-course/start.py --venv /opt/course --set-up && rm -rf /opt/course/uv /root/.cache
RUN useradd --create-home --uid 1000 learner && cp -r /opt/ffn-course /home/learner/course && chown -R learner:learner /home/learner
USER learner
WORKDIR /home/learner/course
EXPOSE 8888
# Of the container only: -p 127.0.0.1:8888:8888 keeps it on your computer. JupyterLab prints an address with a token.
CMD ["jupyter", "lab", "--ip=0.0.0.0", "--port=8888", "--no-browser", "--LabApp.default_url=/lab/tree/00_start_here/00_start_here.ipynb"]

FROM python AS instructor
RUN apt-get update && apt-get install -y --no-install-recommends bubblewrap make uidmap && rm -rf /var/lib/apt/lists/*
COPY . /opt/autograder
RUN python3 /opt/autograder/course/start.py --venv /opt/course --set-up --constraints /opt/autograder/constraints.txt --package /opt/autograder && rm -rf /opt/course/uv /root/.cache
RUN chmod -R go-rwx /opt/autograder/autograder/keys /opt/autograder/solutions /opt/autograder/course/ffnlab/course/answers
WORKDIR /opt/autograder
CMD ["autograder", "doctor"]
